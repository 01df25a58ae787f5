{{/* What things are called: the release, with the chart's name unless it is in there. */}}
{{- define "headgate.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "headgate.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "headgate.labels" -}}
{{ include "headgate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end -}}

{{- define "headgate.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* The variable of a setting: http-port is HEADGATE_HTTP_PORT. */}}
{{- define "headgate.variable" -}}
HEADGATE_{{ . | upper | replace "-" "_" }}
{{- end -}}

{{/* The name of the ConfigMap with the rules; empty where they are in a database. */}}
{{- define "headgate.rules" -}}
{{- if .Values.rules.configMap -}}
{{ .Values.rules.configMap }}
{{- else if .Values.rules.content -}}
{{ include "headgate.name" . }}-rules
{{- end -}}
{{- end -}}

{{/* The port of probes and metrics: one of its own, where the settings have one. */}}
{{- define "headgate.operations" -}}
{{ hasKey .Values.settings "ops-port" | ternary "ops" "http" }}
{{- end -}}
