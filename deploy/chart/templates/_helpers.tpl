{{/* Names, labels, and the parts of a pod that all deployments share. */}}

{{- define "fieldflame.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "fieldflame.selector" -}}
app.kubernetes.io/name: fieldflame
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .part }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{- define "fieldflame.labels" -}}
{{ include "fieldflame.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "fieldflame.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ with .Values.image.digest }}@{{ . }}{{ end }}
{{- end }}

{{/* "true" if workers are scaled by the oldest pending trace. */}}
{{- define "fieldflame.byOldestPending" -}}
{{- $wanted := toString .Values.worker.autoscaling.oldestPending.enabled }}
{{- if eq $wanted "auto" }}{{ .Capabilities.APIVersions.Has "external.metrics.k8s.io/v1beta1" }}{{ else }}{{ $wanted }}{{ end }}
{{- end }}

{{/* The environment of a part: its own settings, those of the chart, further ones. A later name replaces an earlier. */}}
{{- define "fieldflame.env" -}}
{{- $values := .root.Values }}
{{- $settings := dict
  "FIELDFLAME_ALLOWED_HOSTS" (printf "%s,$(POD_IP),[$(POD_IP)]" (join "," $values.hosts))
  "FIELDFLAME_BEHIND_PROXY" "1"
  "FIELDFLAME_HTTPS" (ternary "1" "0" $values.https)
  "FIELDFLAME_HSTS_SECONDS" (toString (int $values.hstsSeconds))
}}
{{- if has .part (list "worker" "maintenance") }}
{{- $_ := set $settings "FIELDFLAME_METRICS_HOST" "0.0.0.0" }}
{{- $_ := set $settings "FIELDFLAME_WORKER_METRICS_PORT" "9108" }}
{{- else if eq .part "beat" }}
{{- $_ := set $settings "FIELDFLAME_METRICS_HOST" "0.0.0.0" }}
{{- $_ := set $settings "FIELDFLAME_BEAT_METRICS_PORT" "9109" }}
{{- end }}
{{- with $values.oidc }}
{{- if .issuer }}
{{- $_ := set $settings "FIELDFLAME_OIDC_ISSUER" .issuer }}
{{- $_ := set $settings "FIELDFLAME_OIDC_CLIENT_ID" .clientId }}
{{- $_ := set $settings "FIELDFLAME_OIDC_CLIENT_SECRET_FILE" "/run/secrets/fieldflame/oidc" }}
{{- $_ := set $settings "FIELDFLAME_PASSWORD_LOGIN" (ternary "1" "0" .passwords) }}
{{- with .name }}{{ $_ := set $settings "FIELDFLAME_OIDC_NAME" . }}{{ end }}
{{- with .roles }}{{ $_ := set $settings "FIELDFLAME_OIDC_ROLES" . }}{{ end }}
{{- end }}
{{- end }}
{{- if $values.authorities }}
{{- $_ := set $settings "SSL_CERT_FILE" "/etc/fieldflame/authorities/ca-certificates.crt" }}
{{- $_ := set $settings "PGSSLROOTCERT" "/etc/fieldflame/authorities/ca-certificates.crt" }}
{{- end }}
- name: POD_IP # by which Prometheus asks
  valueFrom: { fieldRef: { fieldPath: status.podIP } }
{{- range $name, $value := mergeOverwrite $settings (.settings | default dict) $values.env (.own.env | default dict) }}
- name: {{ $name }}
  value: {{ toString $value | quote }}
{{- end }}
- name: FIELDFLAME_SECRET_KEY
  valueFrom: { secretKeyRef: { name: {{ $values.secret.name }}, key: {{ $values.secret.secretKey }} } }
- name: DATABASE_URL
  valueFrom: { secretKeyRef: { name: {{ $values.secret.name }}, key: {{ $values.secret.databaseUrl }} } }
- name: REDIS_URL
  valueFrom: { secretKeyRef: { name: {{ $values.secret.name }}, key: {{ $values.secret.redisUrl }} } }
- name: FIELDFLAME_METRICS_TOKEN
  valueFrom: { secretKeyRef: { name: {{ $values.secret.name }}, key: {{ $values.secret.metricsToken }}, optional: true } }
- name: FIELDFLAME_OBJECTS_ACCESS_KEY
  valueFrom: { secretKeyRef: { name: {{ $values.secret.name }}, key: {{ $values.secret.objectsAccessKey }}, optional: true } }
- name: FIELDFLAME_OBJECTS_SECRET_KEY
  valueFrom: { secretKeyRef: { name: {{ $values.secret.name }}, key: {{ $values.secret.objectsSecretKey }}, optional: true } }
{{- end }}

{{/* The port on which a worker or beat serves /metrics. Web does so on its own. */}}
{{- define "fieldflame.metricsPort" -}}
ports:
  - { name: metrics, containerPort: {{ . }} }
{{- end }}

{{/* The pod of a part. own: its values; args, settings; grace; ports and probes as YAML; data: a volume source. */}}
{{- define "fieldflame.pod" -}}
metadata:
  labels: {{- include "fieldflame.labels" (dict "root" .root "part" .part) | nindent 4 }}
  {{- with .own.podAnnotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- if ne .part "migrate" }}
  serviceAccountName: {{ include "fieldflame.name" .root }}
  {{- end }}
  automountServiceAccountToken: false
  enableServiceLinks: false # else a Service named fieldflame becomes FIELDFLAME_PORT=tcp://…
  {{- with .root.Values.pullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext: {{- toYaml .root.Values.podSecurityContext | nindent 4 }}
  {{- with .grace }}
  terminationGracePeriodSeconds: {{ . }}
  {{- end }}
  {{- with .restart }}
  restartPolicy: {{ . }}
  {{- end }}
  {{- if .spread }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "fieldflame.selector" (dict "root" .root "part" .part) | nindent 10 }}
  {{- end }}
  containers:
    - name: {{ .part }}
      image: {{ include "fieldflame.image" .root }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      args: {{ toJson .args }}
      securityContext: {{- toYaml .root.Values.securityContext | nindent 8 }}
      env: {{- include "fieldflame.env" . | trim | nindent 8 }}
      {{- with .container }}
      {{- . | nindent 6 }}
      {{- end }}
      resources: {{- toYaml .own.resources | nindent 8 }}
      volumeMounts:
        - { name: data, mountPath: /var/lib/fieldflame }
        - { name: tmp, mountPath: /tmp }
        {{- if .root.Values.oidc.issuer }}
        - { name: oidc, mountPath: /run/secrets/fieldflame, readOnly: true }
        {{- end }}
        {{- if .root.Values.authorities }}
        - { name: authorities, mountPath: /etc/fieldflame/authorities, readOnly: true }
        {{- end }}
  volumes:
    - name: data
      {{- .data | default "emptyDir: {}" | nindent 6 }}
    - name: tmp
      emptyDir: {} # on disk: an upload of source maps may have 256 MiB
    {{- if .root.Values.oidc.issuer }}
    - name: oidc
      secret:
        secretName: {{ .root.Values.secret.name }}
        defaultMode: 0440 # for the group of the pods
        items: [{ key: {{ .root.Values.secret.oidcClientSecret }}, path: oidc }]
    {{- end }}
    {{- with .root.Values.authorities }}
    - name: authorities
      configMap: { name: {{ . }} }
    {{- end }}
  {{- with .own.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .own.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .own.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
