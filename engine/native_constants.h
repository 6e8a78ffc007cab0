/* Made by scripts/native_constants.py from the modules that are named here; do not edit. */

#ifndef MQGATEWAY_NATIVE_CONSTANTS_H
#define MQGATEWAY_NATIVE_CONSTANTS_H

/* engine.message */
#define NAME_VALUE_SEPARATOR "\001"
#define NAME_VALUE_SEPARATOR_BYTE 1
#define PROPERTY_SEPARATOR "\002"
#define PROPERTY_SEPARATOR_BYTE 2
#define PROPERTY_CRC32 "__CRC32#"
#define PROPERTY_INNER_BASE "INNER_BASE"
#define PROPERTY_KEYS "KEYS"
#define PROPERTY_TAGS "TAGS"
#define PROPERTY_UNIQ_KEY "UNIQ_KEY"
#define PROPERTY_WAIT_STORE_MSG_OK "WAIT"
#define SCHEDULE_TOPIC "SCHEDULE_TOPIC_XXXX"

/* engine.message.SysFlag */
#define SYS_COMPRESSED 1
#define SYS_TRANSACTION_MASK 12
#define SYS_BORN_HOST_V6 16
#define SYS_STORE_HOST_V6 32
#define SYS_NEED_UNWRAP 64
#define SYS_INNER_BATCH 128

/* engine.store.record */
#define RECORD_MAGIC 0xDAA320A7u
#define RECORD_MAGIC_V2 0xDAA320ABu
#define RECORD_HEAD_SIZE 88
#define RECORD_TOPIC_LENGTH_MAX_V1 127
#define RECORD_PROPERTIES_LENGTH_MAX 32767
#define RECORD_CRC_SIZE 20
#define RECORD_ELEMENT_SIZE_MIN 22

/* engine.store.consume_queue */
#define QUEUE_UNIT_SIZE 20

/* engine.store.index_file */
#define INDEX_HEADER_SIZE 40
#define INDEX_ENTRY_SIZE 20
#define INDEX_SECONDS_MAX 2147483647

/* engine.store.runs */
#define RUN_RECORDS_MAX 1024
#define RUN_QUEUES_MAX 64

/* engine.message.UNIQUE_KEY_LENGTHS */
#define UNIQUE_KEY_LENGTH 32
#define UNIQUE_KEY_LENGTH_V6 56

#endif
