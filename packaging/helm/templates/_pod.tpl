{{/*
What the pods of all servers have in common.
(dict "root" $ "component" "broker" "values" .Values.broker "args" [...] "ports" {name: number} "env" "..."
 "config" NAME of the ConfigMap "apart" labels of the pods that are to be on other nodes "etcdTls" NAME of a Secret)
*/}}
{{- define "mqgateway.podSpec" -}}
{{- $root := .root }}
{{- $values := .values -}}
serviceAccountName: {{ include "mqgateway.serviceAccount" $root }}
automountServiceAccountToken: false
{{- /* Their variables begin as those of settings do, where the release is called mqgateway. */}}
enableServiceLinks: false
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext: {{- toYaml $root.Values.podSecurityContext | nindent 2 }}
terminationGracePeriodSeconds: {{ int $values.terminationGracePeriodSeconds }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- if $values.hostNetwork }}
hostNetwork: true
dnsPolicy: ClusterFirstWithHostNet
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- if $values.affinityOverride }}
affinity: {{- toYaml $values.affinityOverride | nindent 2 }}
{{- else if ne $values.podAntiAffinityPreset "none" }}
affinity:
  podAntiAffinity:
    {{- if eq $values.podAntiAffinityPreset "hard" }}
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels: {{- .apart | nindent 12 }}
    {{- end }}
    preferredDuringSchedulingIgnoredDuringExecution:
      {{- range $weight, $key := dict "50" "topology.kubernetes.io/zone" "100" "kubernetes.io/hostname" }}
      - weight: {{ $weight }}
        podAffinityTerm:
          topologyKey: {{ $key }}
          labelSelector:
            matchLabels: {{- $.apart | nindent 14 }}
      {{- end }}
{{- end }}
{{- with $values.topologySpreadConstraints }}
topologySpreadConstraints: {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: {{ .component }}
    image: {{ include "mqgateway.image" $root }}
    imagePullPolicy: {{ $root.Values.image.pullPolicy }}
    args: {{- toYaml .args | nindent 6 }}
    env:
      - name: POD_NAME
        valueFrom:
          fieldRef:
            fieldPath: metadata.name
      {{- with .env }}
      {{- . | nindent 6 }}
      {{- end }}
      {{- if $root.Values.auth.enabled }}
      {{- include "mqgateway.authEnv" $root | nindent 6 }}
      {{- end }}
      {{- with $values.extraEnv }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    ports:
      {{- range $name, $number := .ports }}
      - name: {{ $name }}
        containerPort: {{ $number }}
      {{- end }}
      - name: health
        containerPort: 5558
      {{- if $root.Values.metrics.enabled }}
      - name: metrics
        containerPort: 5557
      {{- end }}
    {{- /* A store that is recovered answers /livez from the first second on, however long it takes. */}}
    startupProbe: {{- include "mqgateway.probe" (list "/livez" (dict "periodSeconds" 2 "failureThreshold" 60) $values.startupProbe) | nindent 6 }}
    livenessProbe: {{- include "mqgateway.probe" (list "/livez" (dict "periodSeconds" 10 "failureThreshold" 6) $values.livenessProbe) | nindent 6 }}
    readinessProbe: {{- include "mqgateway.probe" (list "/readyz" (dict "periodSeconds" 5 "failureThreshold" 3) $values.readinessProbe) | nindent 6 }}
    {{- with $values.preStopSeconds }}
    lifecycle:
      preStop:
        exec:
          command: [sleep, "{{ int . }}"]
    {{- end }}
    resources: {{- toYaml $values.resources | nindent 6 }}
    securityContext: {{- toYaml $root.Values.securityContext | nindent 6 }}
    volumeMounts:
      - name: config
        mountPath: /etc/mqgateway/conf
        readOnly: true
      {{- if $root.Values.tls.enabled }}
      - name: tls
        mountPath: /etc/mqgateway/tls
        readOnly: true
      {{- end }}
      {{- if .etcdTls }}
      - name: etcd-tls
        mountPath: /etc/mqgateway/etcd
        readOnly: true
      {{- end }}
      {{- with $values.extraVolumeMounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      - name: store
        mountPath: /home/rocketmq/store
      - name: tmp
        mountPath: /tmp
volumes:
  - name: config
    configMap:
      name: {{ .config }}
  {{- if $root.Values.tls.enabled }}
  - name: tls
    secret:
      secretName: {{ $root.Values.tls.existingSecret }}
      defaultMode: 0440
  {{- end }}
  {{- if .etcdTls }}
  - name: etcd-tls
    secret:
      secretName: {{ .etcdTls }}
      defaultMode: 0440
  {{- end }}
  {{- with $values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- if not $values.persistence.enabled }}
  - name: store
    emptyDir: {}
  {{- end }}
  - name: tmp
    emptyDir: {}
{{- end }}

{{- define "mqgateway.probe" -}}
{{- $get := dict "httpGet" (dict "path" (index . 0) "port" "health") "timeoutSeconds" 5 }}
{{- toYaml (merge (dict) (default (dict) (index . 2)) (index . 1) $get) }}
{{- end }}

{{/* Secrets of access control, which stand in no file of settings. */}}
{{- define "mqgateway.authEnv" -}}
{{- $secret := include "mqgateway.authSecret" . }}
{{- range $variable, $key := dict
      "MQGATEWAY_INIT_AUTHENTICATION_USER" "initAuthenticationUser"
      "MQGATEWAY_INNER_CLIENT_AUTHENTICATION_CREDENTIALS" "innerClientAuthenticationCredentials"
      "MQGATEWAY_AUTH_KEY" "authKey" }}
- name: {{ $variable }}
  valueFrom:
    secretKeyRef:
      name: {{ $secret }}
      key: {{ $key }}
      {{- if eq $key "authKey" }}
      optional: true
      {{- end }}
{{- end }}
{{- end }}

{{/* The volume of each pod: (dict "root" $ "component" "broker" "values" .Values.broker). */}}
{{- define "mqgateway.volumeClaims" -}}
{{- with .values.persistence }}
{{- if .enabled }}
{{- /* Messages are never deleted with what served them. */}}
persistentVolumeClaimRetentionPolicy:
  whenDeleted: Retain
  whenScaled: Retain
volumeClaimTemplates:
  - apiVersion: v1
    kind: PersistentVolumeClaim
    metadata:
      name: store
      labels: {{- include "mqgateway.selector" (dict "root" $.root "component" $.component) | nindent 8 }}
      {{- with .annotations }}
      annotations: {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      accessModes: {{- toYaml .accessModes | nindent 8 }}
      {{- with .storageClass }}
      storageClassName: {{ ternary "" . (eq . "-") | quote }}
      {{- end }}
      resources:
        requests:
          storage: {{ .size }}
{{- end }}
{{- end }}
{{- end }}

{{/* What pods bear beside their selector: (dict "root" $ "values" .Values.broker "settings" text). */}}
{{- define "mqgateway.podAnnotations" -}}
{{- /* Servers read most settings at their start only: other settings are other pods. */ -}}
checksum/settings: {{ sha256sum .settings }}
{{- if and .root.Values.auth.enabled (not .root.Values.auth.existingSecret) }}
checksum/auth: {{ include "mqgateway.authData" .root | sha256sum }}
{{- end }}
{{- with .values.podAnnotations }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "mqgateway.disruptionBudget" -}}
{{- if .values.podDisruptionBudget.enabled }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "mqgateway.fullname" .root }}-{{ .component }}
  labels: {{- include "mqgateway.labels" . | nindent 4 }}
spec:
  maxUnavailable: {{ .values.podDisruptionBudget.maxUnavailable }}
  {{- /* A pod that is of no use must not keep its node from being drained. */}}
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{- include "mqgateway.selector" . | nindent 6 }}
{{- end }}
{{- end }}

{{/*
A Service: (dict "root" $ "component" "broker" "name" "broker-headless" "service" values or nil "ports" {name: number}
"also" labels beside the component's). Without `service` it is headless, and has pods that are not ready too: servers of
one cluster find each other before.
*/}}
{{- define "mqgateway.service" -}}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ include "mqgateway.fullname" .root }}-{{ .name }}
  labels: {{- include "mqgateway.labels" . | nindent 4 }}
    {{- if not .service }}
    mqgateway/headless: "true"
    {{- end }}
  {{- if .service }}
  {{- with .service.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
spec:
  {{- if .service }}
  type: {{ .service.type }}
  {{- else }}
  clusterIP: None
  publishNotReadyAddresses: true
  {{- end }}
  selector: {{- include "mqgateway.selector" . | nindent 4 }}
    {{- with .also }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  ports:
    {{- range $name, $number := .ports }}
    - name: {{ $name }}
      targetPort: {{ $name }}
      {{- if $.service }}
      port: {{ int $.service.port }}
      {{- with $.service.nodePort }}
      nodePort: {{ int . }}
      {{- end }}
      {{- else }}
      port: {{ $number }}
      {{- end }}
    {{- end }}
    {{- if and (not .service) .root.Values.metrics.enabled }}
    - name: metrics
      targetPort: metrics
      port: 5557
    {{- end }}
{{- end }}
