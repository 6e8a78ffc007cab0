{{/* What things are called, and the labels they bear. */}}

{{- define "mqgateway.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{/* Short enough that the names of pods and of their revisions fit into labels. */}}
{{- define "mqgateway.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains (include "mqgateway.name" .) .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "mqgateway.name" .) | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "mqgateway.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "mqgateway.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "mqgateway.image" -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}

{{/* What does not change from release to release: (dict "root" $ "component" "broker"). */}}
{{- define "mqgateway.selector" -}}
app.kubernetes.io/name: {{ include "mqgateway.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{- define "mqgateway.labels" -}}
{{ include "mqgateway.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{/* The Secret of accounts, and that of certificates. */}}
{{- define "mqgateway.authSecret" -}}
{{- default (printf "%s-auth" (include "mqgateway.fullname" .)) .Values.auth.existingSecret }}
{{- end }}

{{/* Name servers as brokers and tools are told: each pod by its own name. */}}
{{- define "mqgateway.nameServers" -}}
{{- $name := printf "%s-nameserver" (include "mqgateway.fullname" .) }}
{{- $addresses := list }}
{{- range until (int .Values.nameserver.replicaCount) }}
{{- $addresses = append $addresses (printf "%s-%d.%s-headless:9876" $name . $name) }}
{{- end }}
{{- join ";" $addresses }}
{{- end }}

{{/* Controllers as brokers are told, and with "peers" as they know one another. */}}
{{- define "mqgateway.controllers" -}}
{{- $name := printf "%s-controller" (include "mqgateway.fullname" .root) }}
{{- $addresses := list }}
{{- range until (int .root.Values.controller.replicaCount) }}
{{- $id := ternary (printf "n%d-" .) "" (default false $.peers) }}
{{- $addresses = append $addresses (printf "%s%s-%d.%s-headless:9878" $id $name . $name) }}
{{- end }}
{{- join ";" $addresses }}
{{- end }}
