//! The words of SQL that matter: functions that only compute, functions that do something, pragmas
//! that read. One line a kind; a function in no line is judged by the verb in its name, and as a
//! write when it has none, because anybody can define functions.

use crate::policy::Effect;
use crate::policy::heuristics::effect_of_words;

/// Functions that compute or look, of the standard and the common servers.
const COMPUTES: &str = "abs acos any_value array array_agg array_length array_to_string ascii asin atan atan2 avg bit_and \
    bit_or bool_and bool_or btrim cardinality cast ceil ceiling char char_length character_length chr coalesce collate \
    concat concat_ws convert convert_tz corr cos cot count covar_pop covar_samp cume_dist curdate current_date \
    current_database current_schema current_setting current_time current_timestamp current_user curtime database date \
    date_add date_bin date_diff date_format date_part date_sub date_trunc dateadd datediff datename datepart \
    datetime day dayname dayofmonth dayofweek dayofyear decode degrees dense_rank div encode every exists exp extract \
    field filter find_in_set first_value floor format format_type generate_series generate_subscripts getdate glob \
    greatest group_concat grouping hex hour if ifnull iif in initcap instr interval isnull isdate isnumeric json json_agg \
    json_array json_array_elements json_array_elements_text json_array_length json_build_array json_build_object json_each \
    json_extract json_extract_path json_extract_path_text json_group_array json_group_object json_object json_object_agg \
    json_type json_valid jsonb_agg jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_object \
    jsonb_each jsonb_object_agg jsonb_object_keys jsonb_path_query jsonb_pretty jsonb_set julianday lag last_day last_value \
    lcase lead least left len length like likelihood listagg ln localtime localtimestamp locate log log10 log2 lower lpad \
    ltrim make_date make_interval make_timestamp max md5 median microsecond mid min minute mod mode month monthname nth_value \
    ntile now nullif numeric nvl octet_length ord over overlay partition explain analyze buffers verbose percent_rank percentile_cont percentile_disc pi \
    position pow power printf quarter quote quote_ident quote_literal quote_nullable quotename radians rand random rank regexp_count \
    regexp_like regexp_match regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr \
    repeat replace reverse right round row row_number row_to_json rpad rtrim schema second session_user sha1 sha2 sha224 \
    sha256 sign sin some sort_array soundex split_part sqlite_version sqrt starts_with std stddev stddev_pop stddev_samp \
    str str_to_date strftime string_agg string_to_array strpos stuff substr substring substring_index sum sysdate system_user \
    tan time timestamp timestampadd timestampdiff to_base64 to_char to_date to_days to_hex to_json to_jsonb to_number \
    to_timestamp to_tsquery to_tsvector total translate trim trunc try_cast try_convert ts_headline ts_rank typeof ucase unhex \
    unicode unistr unix_timestamp unnest upper user using utc_timestamp uuid uuid_generate_v4 gen_random_uuid values \
    var_pop var_samp variance version week weekday within year all any as and or not on varchar decimal char nchar \
    nvarchar float int integer bigint bit binary varbinary struct map list lateral rollup cube sets grouping_id by when then \
    else from select where having limit key primary unique references check foreign constraint default index generated \
    plainto_tsquery websearch_to_tsquery phraseto_tsquery similarity word_similarity age isfinite justify_days clock_timestamp \
    statement_timestamp transaction_timestamp timeofday obj_description col_description has_table_privilege \
    has_schema_privilege has_database_privilege st_distance st_within st_contains st_intersects st_asgeojson st_x st_y \
    countif sumif uniq uniqexact topk quantile arrayjoin todate todatetime tostartofmonth tostartofday tostartofhour \
    toyyyymm groupuniqarray grouparray argmax argmin object_id object_name db_name scope_identity approx_count_distinct";

/// Functions of a server that look at its own state or take a document apart, by their whole names.
const LOOKS: &str = "pg_get_viewdef pg_get_functiondef pg_get_indexdef pg_get_constraintdef pg_get_expr pg_get_serial_sequence \
    pg_get_userbyid pg_get_triggerdef pg_get_ruledef pg_get_function_arguments pg_get_function_identity_arguments \
    pg_get_function_result pg_get_keywords pg_get_partkeydef pg_get_statisticsobjdef pg_size_pretty pg_total_relation_size \
    pg_relation_size pg_database_size pg_table_size pg_indexes_size pg_tablespace_size pg_typeof pg_is_in_recovery \
    pg_table_is_visible pg_backend_pid pg_column_size pg_postmaster_start_time pg_conf_load_time pg_current_wal_lsn \
    pg_current_snapshot pg_current_xact_id_if_assigned pg_encoding_to_char pg_blocking_pids pg_stat_get_live_tuples \
    pg_stat_get_dead_tuples pg_last_xact_replay_timestamp pg_wal_lsn_diff pragma_table_info pragma_table_xinfo \
    pragma_index_list pragma_index_info pragma_table_list pragma_foreign_key_list inet_server_addr inet_server_port \
    inet_client_addr inet_client_port inet_aton inet_ntoa inet6_aton inet6_ntoa json_query json_value json_exists json_contains \
    json_contains_path json_keys json_length json_depth json_search json_set json_insert json_replace json_remove \
    json_merge_patch json_merge_preserve json_arrayagg json_objectagg json_quote json_unquote json_table json_tree json_patch \
    json_strip_nulls json_typeof json_to_record json_to_recordset json_populate_record json_populate_recordset json_overlaps \
    json_pretty json_error_position json_each_text json_object_keys json_serialize jsonb_path_exists jsonb_path_match \
    jsonb_path_query_array jsonb_path_query_first jsonb_set_lax jsonb_insert jsonb_strip_nulls jsonb_typeof jsonb_to_record \
    jsonb_to_recordset jsonb_populate_record jsonb_populate_recordset jsonb_each_text jsonb_extract_path \
    jsonb_extract_path_text jsonb_delete_path jsonb_contains jsonb_exists jsonb_object jsonb_group_array jsonb_group_object";

/// Functions that may stand where a table stands: they make rows of their arguments or of the schema.
const ROWS: &str = "generate_series generate_subscripts unnest json_each json_tree json_table json_each_text json_array_elements \
    json_array_elements_text json_object_keys json_to_record json_to_recordset json_populate_record json_populate_recordset \
    jsonb_each jsonb_each_text jsonb_array_elements jsonb_array_elements_text jsonb_object_keys jsonb_to_record \
    jsonb_to_recordset jsonb_populate_record jsonb_populate_recordset jsonb_path_query regexp_split_to_table \
    regexp_matches string_split openjson xmltable values rows table flatten range numbers lateral current_date \
    pragma_table_info pragma_table_xinfo pragma_index_list pragma_index_info pragma_table_list pragma_foreign_key_list \
    pg_get_keywords";

/// Endings of files that a server opens when a table is named so.
const FILES: &str = "csv tsv txt parquet pq json jsonl ndjson geojson xlsx xls arrow feather avro orc gz zst bz2 db duckdb sqlite log";

/// Functions that lose something or end somebody's work.
const DESTROYS: &str =
    "pg_terminate_backend pg_cancel_backend lo_unlink pg_drop_replication_slot pg_file_unlink";

/// Functions that run code, reach files or other machines, or load libraries.
const RUNS: &str = "dblink dblink_exec dblink_connect dblink_send_query lo_export lo_import load_extension load_file readfile writefile \
    edit sys_exec sys_eval xp_cmdshell xp_dirtree xp_fileexist xp_regread sp_executesql sp_oacreate openrowset opendatasource \
    openquery query_to_xml query_to_json database_to_xml table_to_xml cursor_to_xml http http_get http_post http_put http_delete \
    net_http_post pg_read_file pg_read_binary_file pg_ls_dir pg_stat_file pg_file_write pg_file_rename pg_execute_server_program \
    url s3 remote remotesecure file executable mysql postgresql mongodb jdbc odbc hdfs utl_http utl_file dbms_scheduler exec \
    execute eval system shell fts3_tokenizer read_csv read_csv_auto read_parquet read_json read_json_auto read_text read_blob read_ndjson read_ndjson_auto read_json_objects read_xlsx parquet_scan parquet_metadata csv_scan sqlite_scan \
    postgres_scan postgres_query mysql_scan mysql_query iceberg_scan delta_scan st_read getenv urlcluster s3cluster gcs azureblobstorage deltalake \
    sniff_csv glob_files plpy plperl java_call";

/// Functions that change the session, a counter or a lock.
const WRITES: &str = "nextval setval set_config pg_advisory_lock pg_advisory_xact_lock pg_try_advisory_lock pg_notify pg_reload_conf \
    pg_rotate_logfile pg_switch_wal get_lock release_lock last_insert_id pg_logical_emit_message";

/// Pragmas that take a name and only look.
const PRAGMAS: &str = "table_info table_xinfo index_info index_xinfo index_list foreign_key_list table_list foreign_key_check \
    integrity_check quick_check";

/// Words after which a name with a bracket behind it is a table, a type, an alias or an index.
const TABLES: &str = "into table exists index on references join view as with recursive only key constraint unique update type \
    temp temporary";

fn among(word: &str, row: &str) -> bool {
    row.split_ascii_whitespace().any(|it| it == word)
}

/// What a call of the function does.
pub(super) fn function(name: &str) -> Effect {
    let name = name.to_ascii_lowercase();
    if among(&name, COMPUTES) || among(&name, PRAGMAS) || among(&name, LOOKS) {
        return Effect::Read;
    }
    if among(&name, RUNS) {
        return Effect::Execute;
    }
    if among(&name, DESTROYS) {
        return Effect::Destroy;
    }
    if among(&name, WRITES) || name.starts_with("pg_") {
        return Effect::Write;
    }
    match effect_of_words(&name) {
        Some(Effect::Read | Effect::Fetch) | None => Effect::Write,
        Some(effect) => effect,
    }
}

/// Whether the pragma with an argument only looks.
pub(super) fn reads_pragma(name: &str) -> bool {
    among(name, PRAGMAS)
}

/// Whether a name behind the word is no function.
pub(super) fn introduces_a_table(word: &str) -> bool {
    among(&word.to_ascii_lowercase(), TABLES)
}

/// Whether the function may stand where a table stands and still only compute.
pub(super) fn makes_rows(name: &str) -> bool {
    among(&name.to_ascii_lowercase(), ROWS)
}

/// Whether a name ends as files do.
pub(super) fn ends_as_file(name: &str) -> bool {
    among(&name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase(), FILES)
}
