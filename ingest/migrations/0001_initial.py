"""All tables of the ingest endpoint: groups, receipts, bodies and counts."""

import django.db.models.deletion
from django.db import migrations, models

# The bodies, in daily partitions by the time of receipt. They are gzip already, so PostgreSQL does not compress them again.
RAW_TRACES = """
CREATE TABLE ingest_rawtrace (
    project_id bigint NOT NULL,
    view_id uuid NOT NULL,
    seq integer NOT NULL,
    received_at timestamptz NOT NULL,
    trace_id uuid NOT NULL,
    is_gzip boolean NOT NULL,
    body bytea NOT NULL,
    pack_id uuid,
    pack_offset integer,
    pack_length integer,
    PRIMARY KEY (project_id, view_id, seq, received_at)
) PARTITION BY RANGE (received_at);
ALTER TABLE ingest_rawtrace ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE INDEX ingest_rawtrace_trace ON ingest_rawtrace (project_id, trace_id);
"""
# The receipts, in partitions by the time of receipt. Each partition has the key (project_id, view_id, seq); the whole table
# cannot have it, because a key must contain the column of the partitions (ingest.storage.receipt_partitions).
RECEIPTS = """
CREATE TABLE ingest_tracereceipt (
    project_id bigint NOT NULL,
    view_id uuid NOT NULL,
    seq integer NOT NULL,
    group_id integer NOT NULL,
    received_at timestamptz NOT NULL,
    view_started_at timestamptz NOT NULL,
    device_class smallint NOT NULL,
    browser smallint NOT NULL,
    navigation smallint DEFAULT 0 NOT NULL,
    cache smallint DEFAULT 0 NOT NULL,
    environment smallint DEFAULT 0 NOT NULL,
    sdk smallint DEFAULT 0 NOT NULL,
    capture smallint DEFAULT 0 NOT NULL,
    traits smallint DEFAULT 0 NOT NULL,
    session bigint,
    end_reason smallint NOT NULL,
    request_trace text,
    isolated boolean,
    sample_rate double precision,
    requested_interval_us integer,
    interval_us integer NOT NULL,
    measured_interval_us integer,
    used_interval_us integer,
    snippet_us integer,
    snippet_sampled_us integer,
    body_bytes integer NOT NULL,
    state smallint NOT NULL,
    attempts smallint NOT NULL,
    crashes smallint NOT NULL,
    claim_token uuid,
    claimed_until timestamptz,
    fold_version smallint,
    reason text,
    path text,
    detail text
) PARTITION BY RANGE (received_at);
CREATE INDEX tracereceipt_queue ON ingest_tracereceipt (received_at) WHERE state = 0;
CREATE INDEX tracereceipt_group_queue ON ingest_tracereceipt (project_id, group_id, received_at) WHERE state = 0;
CREATE INDEX tracereceipt_rejected ON ingest_tracereceipt (project_id, received_at) WHERE state = 2;
CREATE INDEX tracereceipt_request_trace ON ingest_tracereceipt (project_id, request_trace) WHERE request_trace IS NOT NULL;
"""


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('projects', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='RawTrace',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'view_id', 'seq', 'received_at', blank=True, editable=False, primary_key=True, serialize=False)),
                ('project_id', models.BigIntegerField()),
                ('view_id', models.UUIDField()),
                ('seq', models.IntegerField()),
                ('received_at', models.DateTimeField()),
                ('trace_id', models.UUIDField()),
                ('is_gzip', models.BooleanField()),
                ('body', models.BinaryField()),
                ('pack_id', models.UUIDField(null=True)),
                ('pack_offset', models.IntegerField(null=True)),
                ('pack_length', models.IntegerField(null=True)),
            ],
            options={
                'db_table': 'ingest_rawtrace',
                'managed': False,
            },
        ),
        migrations.CreateModel(
            name='DayCount',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'day_on', blank=True, editable=False, primary_key=True, serialize=False)),
                ('day_on', models.DateField()),
                ('traces', models.BigIntegerField()),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
        ),
        migrations.CreateModel(
            name='DayBytes',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'day_on', 'shard', blank=True, editable=False, primary_key=True, serialize=False)),
                ('day_on', models.DateField()),
                ('shard', models.SmallIntegerField()),
                ('bytes', models.BigIntegerField()),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
        ),
        migrations.CreateModel(
            name='Counter',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'kind', blank=True, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(max_length=10)),
                ('next_id', models.IntegerField(default=1)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
        ),
        migrations.CreateModel(
            name='BorderReceipt',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'view_id', 'seq', blank=True, editable=False, primary_key=True, serialize=False)),
                ('view_id', models.UUIDField()),
                ('seq', models.IntegerField()),
                ('received_at', models.DateTimeField()),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
        ),
        migrations.CreateModel(
            name='AbsentCount',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'day_on', 'page', 'browser', 'reason', 'status', 'shard', blank=True, editable=False, primary_key=True, serialize=False)),
                ('day_on', models.DateField()),
                ('page', models.TextField()),
                ('browser', models.SmallIntegerField()),
                ('reason', models.SmallIntegerField()),
                ('status', models.SmallIntegerField()),
                ('shard', models.SmallIntegerField()),
                ('reports', models.BigIntegerField()),
                ('views', models.BigIntegerField()),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
        ),
        migrations.CreateModel(
            name='HangCount',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'day_on', 'release', 'page', 'reason', 'signature', blank=True, editable=False, primary_key=True, serialize=False)),
                ('day_on', models.DateField()),
                ('release', models.TextField()),
                ('page', models.TextField()),
                ('reason', models.SmallIntegerField()),
                ('signature', models.UUIDField()),
                ('stack_state', models.SmallIntegerField()),
                ('frames', models.JSONField()),
                ('originals', models.JSONField(null=True)),
                ('reports', models.BigIntegerField()),
                ('first_at', models.DateTimeField()),
                ('last_at', models.DateTimeField()),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('originals__isnull', True)), fields=['project'], name='hang_not_looked_up')],
            },
        ),
        migrations.CreateModel(
            name='LoadCount',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'day_on', 'vital', 'has_header', 'bucket', blank=True, editable=False, primary_key=True, serialize=False)),
                ('day_on', models.DateField()),
                ('vital', models.SmallIntegerField()),
                ('has_header', models.BooleanField()),
                ('bucket', models.SmallIntegerField()),
                ('loads', models.BigIntegerField()),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
        ),
        migrations.CreateModel(
            name='ReceiptCount',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'hour_at', blank=True, editable=False, primary_key=True, serialize=False)),
                ('hour_at', models.DateTimeField()),
                ('folded', models.BigIntegerField()),
                ('rejected', models.BigIntegerField()),
                ('last_received_at', models.DateTimeField()),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
        ),
        migrations.CreateModel(
            name='Refusal',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'hour_at', 'reason', 'shard', blank=True, editable=False, primary_key=True, serialize=False)),
                ('hour_at', models.DateTimeField()),
                ('reason', models.CharField(max_length=40)),
                ('shard', models.SmallIntegerField()),
                ('count', models.BigIntegerField()),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
        ),
        migrations.CreateModel(
            name='PageSpan',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'span_id', 'part', blank=True, editable=False, primary_key=True, serialize=False)),
                ('span_id', models.CharField(max_length=16)),
                ('part', models.CharField(max_length=16)),
                ('profiler_id', models.UUIDField(null=True)),
                ('received_at', models.DateTimeField()),
                ('started_ms', models.FloatField()),
                ('about', models.BinaryField()),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('profiler_id', None), _negated=True), fields=['project', 'profiler_id'], name='pagespan_profiler'), models.Index(fields=['project', 'received_at'], name='pagespan_age')],
            },
        ),
        migrations.CreateModel(
            name='ScriptDebugId',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'release', 'uri_hash', 'debug_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('release', models.TextField()),
                ('uri_hash', models.UUIDField()),
                ('debug_id', models.UUIDField()),
                ('uri', models.TextField()),
                ('seen_at', models.DateTimeField()),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
        ),
        migrations.CreateModel(
            name='PendingChunk',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'profiler_id', 'chunk_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('profiler_id', models.UUIDField()),
                ('chunk_id', models.UUIDField()),
                ('received_at', models.DateTimeField()),
                ('started_ms', models.FloatField()),
                ('ended_ms', models.FloatField()),
                ('joined_at', models.DateTimeField(null=True)),
                ('user_agent', models.TextField()),
                ('body', models.BinaryField()),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('joined_at', None)), fields=['project', 'received_at'], name='pendingchunk_queue'), models.Index(condition=models.Q(('joined_at', None), _negated=True), fields=['project', 'joined_at'], name='pendingchunk_joined')],
            },
        ),
        migrations.CreateModel(
            name='Pack',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField()),
                ('day_on', models.DateField()),
                ('traces', models.IntegerField()),
                ('bytes', models.BigIntegerField()),
                ('tidy_at', models.DateTimeField(null=True)),
                ('doomed_at', models.DateTimeField(null=True)),
                ('deleted_at', models.DateTimeField(null=True)),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
            options={
                'db_table': 'ingest_pack',
                'indexes': [models.Index(fields=['day_on', 'project'], name='pack_by_day'), models.Index(condition=models.Q(('tidy_at__isnull', False)), fields=['tidy_at'], name='pack_to_tidy'), models.Index(condition=models.Q(('deleted_at__isnull', True), ('doomed_at__isnull', False)), fields=['doomed_at'], name='pack_doomed'), models.Index(condition=models.Q(('deleted_at__isnull', False)), fields=['deleted_at'], name='pack_deleted')],
            },
        ),
        migrations.CreateModel(
            name='Group',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.IntegerField()),
                ('release', models.TextField()),
                ('page', models.TextField()),
                ('first_seen_at', models.DateTimeField()),
                ('closed_at', models.DateTimeField(null=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('project', 'release', 'page'), name='group_once')],
            },
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(RECEIPTS, "DROP TABLE ingest_tracereceipt")],
            state_operations=[
                migrations.CreateModel(
                    name='Receipt',
                    fields=[
                        ('pk', models.CompositePrimaryKey('project_id', 'view_id', 'seq', blank=True, editable=False, primary_key=True, serialize=False)),
                        ('view_id', models.UUIDField()),
                        ('seq', models.IntegerField()),
                        ('group_id', models.IntegerField()),
                        ('received_at', models.DateTimeField()),
                        ('view_started_at', models.DateTimeField()),
                        ('device_class', models.SmallIntegerField()),
                        ('browser', models.SmallIntegerField()),
                        ('navigation', models.SmallIntegerField(db_default=0)),
                        ('cache', models.SmallIntegerField(db_default=0)),
                        ('environment', models.SmallIntegerField(db_default=0)),
                        ('sdk', models.SmallIntegerField(db_default=0)),
                        ('capture', models.SmallIntegerField(db_default=0)),
                        ('traits', models.SmallIntegerField(db_default=0)),
                        ('session', models.BigIntegerField(null=True)),
                        ('end_reason', models.SmallIntegerField()),
                        ('request_trace', models.TextField(null=True)),
                        ('isolated', models.BooleanField(null=True)),
                        ('sample_rate', models.FloatField(null=True)),
                        ('requested_interval_us', models.IntegerField(null=True)),
                        ('interval_us', models.IntegerField()),
                        ('measured_interval_us', models.IntegerField(null=True)),
                        ('used_interval_us', models.IntegerField(null=True)),
                        ('snippet_us', models.IntegerField(null=True)),
                        ('snippet_sampled_us', models.IntegerField(null=True)),
                        ('body_bytes', models.IntegerField()),
                        ('state', models.SmallIntegerField(choices=[(0, 'Pending'), (1, 'Folded'), (2, 'Rejected')], default=0)),
                        ('attempts', models.SmallIntegerField(default=0)),
                        ('crashes', models.SmallIntegerField(default=0)),
                        ('claim_token', models.UUIDField(null=True)),
                        ('claimed_until', models.DateTimeField(null=True)),
                        ('fold_version', models.SmallIntegerField(null=True)),
                        ('reason', models.TextField(null=True)),
                        ('path', models.TextField(null=True)),
                        ('detail', models.TextField(null=True)),
                        ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
                    ],
                    options={
                        'db_table': 'ingest_tracereceipt',
                        'indexes': [models.Index(condition=models.Q(('state', 0)), fields=['received_at'], name='tracereceipt_queue'), models.Index(condition=models.Q(('state', 0)), fields=['project', 'group_id', 'received_at'], name='tracereceipt_group_queue'), models.Index(condition=models.Q(('state', 2)), fields=['project', 'received_at'], name='tracereceipt_rejected'), models.Index(condition=models.Q(('request_trace__isnull', False)), fields=['project', 'request_trace'], name='tracereceipt_request_trace')],
                    },
                ),
            ],
        ),
        migrations.RunSQL(RAW_TRACES, "DROP TABLE ingest_rawtrace"),
    ]
