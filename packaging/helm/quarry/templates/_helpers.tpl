{{- define "quarry.name" -}}
{{- if contains "quarry" .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-quarry" (.Release.Name | trunc 33 | trimSuffix "-") -}}
{{- end -}}
{{- end -}}

{{- define "quarry.labels" -}}
app.kubernetes.io/name: quarry
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "quarry.selector" -}}
app.kubernetes.io/name: quarry
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- /* The name of a pod for the others. */ -}}
{{- define "quarry.domain" -}}
{{ include "quarry.name" . }}.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}
{{- end -}}

{{- define "quarry.cell" -}}
{{- $members := list -}}
{{- range $i := until (int .Values.cell.replicas) -}}
{{- $members = append $members (printf "%s-cell-%d.%s:7400" (include "quarry.name" $) $i (include "quarry.domain" $)) -}}
{{- end -}}
{{- join "," $members -}}
{{- end -}}

{{- define "quarry.keySecret" -}}
{{- .Values.security.keySecret | default (printf "%s-key" (include "quarry.name" .)) -}}
{{- end -}}

{{- /* Mistakes of values, before anything is made. */ -}}
{{- define "quarry.check" -}}
{{- if not (has (int .Values.cell.replicas) (list 1 3 5)) -}}
{{- fail (printf "cell.replicas is %v: a cell has 1, 3 or 5 members" .Values.cell.replicas) -}}
{{- end -}}
{{- if and .Values.api.enabled (not .Values.api.tokensSecret) (not .Values.api.certificateSecret) -}}
{{- fail "api.enabled: the API listens beyond loopback, and needs api.tokensSecret or api.certificateSecret" -}}
{{- end -}}
{{- end -}}

{{- /* The stateful set of a group. Takes root, group (cell or nodes), roles. */ -}}
{{- define "quarry.statefulset" -}}
{{- $root := .root -}}
{{- $values := $root.Values -}}
{{- $name := include "quarry.name" $root -}}
{{- $group := index $values .group -}}
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ $name }}-{{ .group }}
  labels:
    {{- include "quarry.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .group }}
spec:
  serviceName: {{ $name }}
  replicas: {{ $group.replicas }}
  # A cell is founded by all its members together; later, updates go one by one.
  podManagementPolicy: Parallel
  selector:
    matchLabels:
      {{- include "quarry.selector" $root | nindent 6 }}
      app.kubernetes.io/component: {{ .group }}
  template:
    metadata:
      labels:
        {{- include "quarry.labels" $root | nindent 8 }}
        app.kubernetes.io/component: {{ .group }}
      annotations:
        checksum/config: {{ include (print $root.Template.BasePath "/configmap.yaml") $root | sha256sum }}
        {{- with $values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      {{- with $values.image.pullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 970
        runAsGroup: 970
        fsGroup: 970
        fsGroupChangePolicy: OnRootMismatch
        seccompProfile:
          type: RuntimeDefault
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: {{ $values.topologyKey }}
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "quarry.selector" $root | nindent 14 }}
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 100
              podAffinityTerm:
                topologyKey: kubernetes.io/hostname
                labelSelector:
                  matchLabels:
                    {{- include "quarry.selector" $root | nindent 20 }}
      {{- with $values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: quarry
          image: "{{ $values.image.repository }}:{{ $values.image.tag | default $root.Chart.AppVersion }}"
          imagePullPolicy: {{ $values.image.pullPolicy }}
          args:
            - server
            - --config=/etc/quarry/server.conf
            - --name=$(POD_NAME)
            - --address=$(POD_NAME).{{ include "quarry.domain" $root }}:7400
            - --roles={{ .roles }}{{ if $values.api.enabled }},gateway{{ end }}
            - --rack=$(NODE_NAME)
          env:
            - name: POD_NAME
              valueFrom: {fieldRef: {fieldPath: metadata.name}}
            - name: NODE_NAME
              valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
          ports:
            - {name: rpc, containerPort: 7400}
            - {name: console, containerPort: {{ $values.console.port }}}
            {{- if $values.api.enabled }}
            - {name: api, containerPort: {{ $values.api.port }}}
            {{- end }}
          # A node that waits for its cell is alive: so it is started once it
          # listens, ready once it is well, and restarted only if it hangs.
          startupProbe:
            tcpSocket: {port: rpc}
            periodSeconds: 2
            failureThreshold: 150
          readinessProbe:
            httpGet: {path: /health, port: console}
            periodSeconds: 5
            timeoutSeconds: 3
          livenessProbe:
            tcpSocket: {port: rpc}
            periodSeconds: 10
            failureThreshold: 6
          lifecycle:
            preStop:
              # New connections go elsewhere before SIGTERM hands the tablets over.
              exec: {command: [sleep, "3"]}
          resources:
            {{- toYaml $group.resources | nindent 12 }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {drop: [ALL]}
          volumeMounts:
            - {name: data, mountPath: /var/lib/quarry}
            - {name: tmp, mountPath: /tmp}
            - {name: config, mountPath: /etc/quarry, readOnly: true}
            - {name: security, mountPath: /run/secrets/quarry, readOnly: true}
            {{- if and $values.api.enabled $values.api.certificateSecret }}
            - {name: api-certificate, mountPath: /run/secrets/api, readOnly: true}
            {{- end }}
            {{- if and $values.api.enabled $values.api.tokensSecret }}
            - {name: api-tokens, mountPath: /run/secrets/api-tokens, readOnly: true}
            {{- end }}
            {{- if $values.console.tokensSecret }}
            - {name: console-tokens, mountPath: /run/secrets/console, readOnly: true}
            {{- end }}
      volumes:
        - name: tmp
          emptyDir: {}
        - name: config
          configMap: {name: {{ $name }}}
        - name: security
          secret:
            secretName: {{ $values.security.certificateSecret | default (include "quarry.keySecret" $root) }}
            defaultMode: 0440
        {{- if and $values.api.enabled $values.api.certificateSecret }}
        - name: api-certificate
          secret: {secretName: {{ $values.api.certificateSecret }}, defaultMode: 0440}
        {{- end }}
        {{- if and $values.api.enabled $values.api.tokensSecret }}
        - name: api-tokens
          secret: {secretName: {{ $values.api.tokensSecret }}, defaultMode: 0440}
        {{- end }}
        {{- if $values.console.tokensSecret }}
        - name: console-tokens
          secret: {secretName: {{ $values.console.tokensSecret }}, defaultMode: 0440}
        {{- end }}
        {{- if not $values.persistence.enabled }}
        - name: data
          emptyDir: {}
        {{- end }}
  {{- if $values.persistence.enabled }}
  volumeClaimTemplates:
    - apiVersion: v1
      kind: PersistentVolumeClaim
      metadata:
        name: data
      spec:
        accessModes: [ReadWriteOnce]
        {{- with $values.persistence.storageClass }}
        storageClassName: {{ . }}
        {{- end }}
        resources:
          requests: {storage: {{ $values.persistence.size }}}
  {{- end }}
{{- end -}}
