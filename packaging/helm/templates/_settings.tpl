{{/* Files of settings, in the standard's form: a property a line. */}}

{{/* Whole numbers come as floating ones, and large ones would be written with an exponent. */}}
{{- define "mqgateway.value" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}
{{- printf "%.0f" . }}
{{- else }}
{{- toString . | replace "\\" "\\\\" | replace "\n" "\\n" }}
{{- end }}
{{- end }}

{{/*
(dict "what" "broker.config" "given" {...} "set" {...} "assumed" {...}): what is given counts more than what is
assumed; what the chart sets may not be given, as other objects would say otherwise.
*/}}
{{- define "mqgateway.settings" -}}
{{- $all := dict }}
{{- range $name, $value := default (dict) .assumed }}
{{- $_ := set $all $name $value }}
{{- end }}
{{- range $name, $value := .set }}
{{- $_ := set $all $name $value }}
{{- end }}
{{- range $name, $value := .given }}
{{- if hasKey $.set $name }}
{{- fail (printf "%s.%s: the chart sets it itself; see the values in its README" $.what $name) }}
{{- end }}
{{- $_ := set $all $name $value }}
{{- end }}
{{- range $name, $value := $all -}}
{{ $name }}={{ include "mqgateway.value" $value }}
{{ end }}
{{- end }}

{{/* Settings that all servers have: health, metrics, access control, TLS; as YAML. */}}
{{- define "mqgateway.commonSettings" -}}
healthPort: 5558
{{- if .Values.metrics.enabled }}
metricsExporterType: PROM
metricsPromExporterPort: 5557
{{- end }}
{{- if .Values.auth.enabled }}
authenticationEnabled: true
authorizationEnabled: true
{{- end }}
{{- if .Values.tls.enabled }}
tls.enable: true
tls.test.mode.enable: false
tls.server.mode: {{ .Values.tls.mode }}
tls.server.certPath: /etc/mqgateway/tls/tls.crt
tls.server.keyPath: /etc/mqgateway/tls/tls.key
tls.client.authServer: true
tls.client.trustCertPath: /etc/mqgateway/tls/ca.crt
{{- if ne .Values.tls.clientAuth "none" }}
tls.server.need.client.auth: {{ .Values.tls.clientAuth }}
tls.server.authClient: true
tls.server.trustCertPath: /etc/mqgateway/tls/ca.crt
tls.client.certPath: /etc/mqgateway/tls/tls.crt
tls.client.keyPath: /etc/mqgateway/tls/tls.key
{{- end }}
{{- end }}
{{- end }}

{{/* What makes no sense together, said before anything is installed. */}}
{{- define "mqgateway.check" -}}
{{- $auth := .Values.auth }}
{{- if and $auth.enabled (not $auth.existingSecret) }}
{{- range $name := list "password" "innerSecretKey" }}
{{- if not (get $auth $name) }}
{{- fail (printf "auth.%s: give one, or auth.existingSecret" $name) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and .Values.tls.enabled (not .Values.tls.existingSecret) }}
{{- fail "tls.existingSecret: name a Secret with tls.crt, tls.key and ca.crt" }}
{{- end }}
{{- if and .Values.dashboard.ingress.enabled (not (and .Values.dashboard.enabled $auth.enabled)) }}
{{- fail "dashboard.ingress.enabled: without auth.enabled the console is for kubectl port-forward only" }}
{{- end }}
{{- if and .Values.networkPolicy.enabled .Values.broker.hostNetwork }}
{{- fail "networkPolicy.enabled: it does not count for pods with broker.hostNetwork" }}
{{- end }}
{{- if and .Values.controller.enabled (gt (int .Values.controller.replicaCount) 1) (not .Values.controller.etcd.endpoints) }}
{{- fail "controller.etcd.endpoints: several controllers keep what they know in etcd; say where it is, or set controller.replicaCount=1" }}
{{- end }}
{{- end }}
