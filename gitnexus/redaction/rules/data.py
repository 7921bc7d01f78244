"""Redaction rules for keys and connection strings of databases, warehouses and search services."""

from gitnexus.redaction.rule import ASSIGNMENT, SecretRule, near, regexp, token
from gitnexus.redaction.rules.generic import filled

RULES: tuple[SecretRule, ...] = (
    token("supabase-token", "sbp_{x40}"),
    token("supabase-secret-key", "sb_secret_{b20-60}"),
    token("planetscale-token", "pscale_<tkn|pw|oauth>_{t32-64}"),
    token("neon-key", "napi_{l60-70}"),
    near("upstash-token", "upstash", "{S40+}"),
    token("mongodb-service-secret", "mdb_sa_sk_{b40}"),
    token("databricks-token", "dapi{x32}"),
    near("snowflake-password", "snowflake", "{t16+}"),
    near("confluent-secret", "confluent", "{s64}"),
    token("confluent-secret-key", "cflt{s60}"),
    token("aiven-password", "AVNS_{b15-40}"),
    token("elastic-cloud-key", "essu_{S40+}"),
    near("elastic-key", "elastic", "{S40-80}"),
    near("influxdb-token", "influx", "{S86-88}"),
    token("pinecone-key", "pcsk_{b60-80}"),
    near("pinecone-old-key", "pinecone", "{uuid}"),
    near("algolia-key", "algolia", "{x32}"),
    near("meilisearch-key", "meili", "{b32-64}"),
    near("typesense-key", "typesense", "{w32}"),
    token("cockroach-key", "CCDB1_{w22}_{w40}"),
    near("fauna-secret", "fauna", "fn{b38}"),
    near("couchbase-secret", "couchbase", "{w32+}"),
    token("airtable-token", "pat{w14}.{x64}"),
    near("airtable-old-key", "airtable", "key{w14}"),
    near("segment-key", "segment", "{w32}"),
    regexp("connection-string-password", "password= pwd=",
            r"(?i:(?:server|data source|host|user id|uid|database)[ ]?=[^\x00-\x1f]{0,200};[ ]?(?:password|pwd)"
            r"[ ]?=[ ]?)"
            r"(?P<secret>[^\x00-\x1f;\"'{}$<]{3,})",
            ("Server=db;User Id=app;Password=", "hunter22", ";"), "Server=…;Password=…;", filled, before=ASSIGNMENT),
    regexp("jdbc-password", "jdbc:", r"jdbc:[^\x00-\x20\"']{3,300}[?&;]password=(?P<secret>[^\x00-\x20\"'&;{}$<]{3,})",
            ("jdbc:mysql://db/app?user=a&password=", "hunter22", "&x=1"), "jdbc:…password=…", filled),
)  # fmt: skip
