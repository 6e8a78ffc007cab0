/* What a slave does for each record that its master sends, and what the saver of a tier does; see native.c. */

#include "native.h"

/* Of a transaction, of a batch in one record; hosts of IPv6. */
#define SPECIAL (SYS_TRANSACTION_MASK | SYS_INNER_BATCH | SYS_BORN_HOST_V6 | SYS_STORE_HOST_V6)

#define KEY PROPERTY_UNIQ_KEY NAME_VALUE_SEPARATOR
#define KEY_SIZE (Py_ssize_t)(sizeof KEY - 1)
#define CRC_PROPERTY PROPERTY_CRC32 NAME_VALUE_SEPARATOR

typedef struct {
    const uint8_t *topic;
    Py_ssize_t topic_size;
    int64_t first_offset, last_offset, first_place, last_place, stored;
    uint32_t topic_hash;
    int32_t id;
    Py_ssize_t count;
} Queue;

typedef struct {
    int64_t place, stored;
    uint32_t hash;
    int32_t size;
    int queue;
} Record;

typedef struct {
    Queue queues[RUN_QUEUES_MAX];
    Record records[RUN_RECORDS_MAX];
    int queue_count, record_count;
} Run;

static int has(const uint8_t *text, Py_ssize_t size, const char *word) {
    return memmem(text, (size_t)size, word, strlen(word)) != NULL;
}

/* The end of a unique key that is all that a text says for dispatch, and where it begins; NULL where it says more or none. */
static const uint8_t *unique_key(const uint8_t *text, Py_ssize_t size, const uint8_t **begin) {
    const uint8_t *at = text, *found = NULL, *end = text + size;
    if (has(text, size, PROPERTY_TAGS) || has(text, size, PROPERTY_KEYS) || has(text, size, PROPERTY_INNER_BASE) ||
        has(text, size, PROPERTY_KAFKA_PRODUCER))
        return NULL;
    while ((at = memmem(at, (size_t)(end - at), KEY, KEY_SIZE)) != NULL)
        found = at++;
    if (found == NULL || (found > text && found[-1] != PROPERTY_SEPARATOR_BYTE))
        return NULL;
    *begin = at = found + KEY_SIZE;
    for (; at < end && *at != PROPERTY_SEPARATOR_BYTE; at++)
        if (*at > 127 || *at == NAME_VALUE_SEPARATOR_BYTE)
            return NULL;
    return at > *begin ? at : NULL;
}

/* Whether the text of properties seems to end with a checksum of the record, which is looked at elsewhere. */
static int may_end_with_crc(const uint8_t *text, Py_ssize_t size) {
    if (size >= RECORD_CRC_SIZE && memcmp(text + size - RECORD_CRC_SIZE, CRC_PROPERTY, sizeof CRC_PROPERTY - 1) == 0)
        return 1;
    Py_ssize_t begin = size > 11 ? size - 11 : 0, at = begin;
    while (at < size - 1 && text[at] >= '0' && text[at] <= '9')
        at++;
    return size - 1 > begin && at == size - 1;
}

/* The number of the queue in the run, which gets it if there is room; -1 where the record does not follow in it. */
static int queue_of(Run *run, const uint8_t *topic, Py_ssize_t topic_size, int32_t id, int64_t offset) {
    int before = run->record_count == 0 ? 0 : run->records[run->record_count - 1].queue + 1;
    for (int step = 0; step < run->queue_count; step++) {
        int number = (before + step) % run->queue_count; /* senders take queues in turn */
        Queue *queue = &run->queues[number];
        if (queue->id == id && queue->topic_size == topic_size && memcmp(queue->topic, topic, (size_t)topic_size) == 0)
            return offset > queue->last_offset && (uint64_t)offset - (uint64_t)queue->last_offset == 1 ? number : -1;
    }
    if (run->queue_count == RUN_QUEUES_MAX)
        return -1;
    uint32_t hash = 0;
    for (Py_ssize_t at = 0; at < topic_size; at++) {
        if (topic[at] == 0 || topic[at] > 127)
            return -1;
        hash = hash * 31 + topic[at];
    }
    run->queues[run->queue_count] = (Queue){.topic = topic, .topic_size = topic_size, .first_offset = offset,
                                            .topic_hash = hash * 31 + '#', .id = id};
    return run->queue_count++;
}

/* Takes the record at `at` into the run, as record.sound_parts judges it; its size, or 0. */
static int32_t take(Run *run, const uint8_t *at, Py_ssize_t rest, int64_t place, int checks) {
    Plain plain;
    if (run->record_count == RUN_RECORDS_MAX || !read_plain(at, rest, SPECIAL, &plain))
        return 0;
    int32_t id = (int32_t)get4(at + 12);
    int64_t offset = get8(at + 20), stored = get8(at + 56);
    if (get8(at + 28) != place || id < 0)
        return 0;
    if (checks && ((crc32_of(plain.body, plain.body_size) & 0x7FFFFFFFu) != get4(at + 8) ||
                   memchr(plain.text, 0, (size_t)plain.text_size) != NULL || may_end_with_crc(plain.text, plain.text_size)))
        return 0;
    const uint8_t *key, *key_end = unique_key(plain.text, plain.text_size, &key);
    if (key_end == NULL ||
        (plain.topic_size == sizeof SCHEDULE_TOPIC - 1 && memcmp(plain.topic, SCHEDULE_TOPIC, sizeof SCHEDULE_TOPIC - 1) == 0))
        return 0;
    int number = queue_of(run, plain.topic, plain.topic_size, id, offset);
    if (number < 0)
        return 0;
    Queue *queue = &run->queues[number];
    if (queue->count++ == 0)
        queue->first_place = place;
    queue->last_offset = offset;
    queue->last_place = place;
    queue->stored = stored;
    uint32_t hash = positive_hash(hash_behind(queue->topic_hash, key, key_end - key));
    run->records[run->record_count++] = (Record){place, stored, hash, (int32_t)plain.size, number};
    return (int32_t)plain.size;
}

/* A queue's part of the run as Python has it. */
static PyObject *units_of(const Run *run, int number) {
    const Queue *queue = &run->queues[number];
    PyObject *units = PyBytes_FromStringAndSize(NULL, queue->count * QUEUE_UNIT_SIZE);
    if (units == NULL)
        return NULL;
    uint8_t *unit = (uint8_t *)PyBytes_AS_STRING(units);
    for (int at = 0; at < run->record_count; at++) {
        const Record *record = &run->records[at];
        if (record->queue != number)
            continue;
        put8(unit, (uint64_t)record->place);
        put4(unit + 8, (uint32_t)record->size);
        put8(unit + 12, 0);
        unit += QUEUE_UNIT_SIZE;
    }
    return Py_BuildValue("(y#iLLLLN)", queue->topic, queue->topic_size, (int)queue->id, (long long)queue->first_offset,
                         (long long)queue->first_place, (long long)queue->last_place, (long long)queue->stored, units);
}

static PyObject *as_python(const Run *run, long long used) {
    const Record *last = &run->records[run->record_count - 1];
    PyObject *queues = PyList_New(run->queue_count), *pending = PyList_New(run->record_count);
    int is_whole = queues != NULL && pending != NULL;
    for (int number = 0; is_whole && number < run->queue_count; number++) {
        PyObject *units = units_of(run, number);
        is_whole = units != NULL;
        PyList_SET_ITEM(queues, number, units);
    }
    for (int number = 0; is_whole && number < run->record_count; number++) {
        const Record *record = &run->records[number];
        PyObject *row = Py_BuildValue("(kLL)", (unsigned long)record->hash, (long long)record->place, (long long)record->stored);
        is_whole = row != NULL;
        PyList_SET_ITEM(pending, number, row);
    }
    if (is_whole)
        return Py_BuildValue("(LLLNN)", used, (long long)last->place, (long long)last->stored, queues, pending);
    Py_XDECREF(queues);
    Py_XDECREF(pending);
    return NULL;
}

const char native_run_of_doc[] = "run_of(data, at, end, position, check_crc)\n--\n\n"
"What is to be dispatched of the plain records of data that lie back to back from `at` on, at `position` of the log, and end\n"
"before `end`; None where the first is none.\n\n"
"In Python: store.runs.run_of.";

PyObject *native_run_of(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given) {
    if (given != 5 || !PyBytes_CheckExact(args[0])) {
        PyErr_SetString(PyExc_TypeError, "bytes, three numbers and whether to check are wanted");
        return NULL;
    }
    long long numbers[3];
    if (!read_numbers(args + 1, 3, numbers))
        return NULL;
    long long begin = numbers[0], total = PyBytes_GET_SIZE(args[0]), end = Py_MIN(numbers[1], total), at = begin;
    int checks = PyObject_IsTrue(args[4]);
    if (begin < 0)
        PyErr_SetString(PyExc_ValueError, "a place before the data");
    if (begin < 0 || checks < 0)
        return NULL;
    Run *run = PyMem_Malloc(sizeof *run);
    if (run == NULL)
        return PyErr_NoMemory();
    run->queue_count = run->record_count = 0;
    const uint8_t *data = (const uint8_t *)PyBytes_AS_STRING(args[0]);
    int32_t size = 1;
    while (at < end && (size = take(run, data + at, end - at, (int64_t)((uint64_t)numbers[2] + (uint64_t)(at - begin)), checks)) > 0)
        at += size;
    PyObject *found = run->record_count == 0 ? Py_NewRef(Py_None) : as_python(run, at - begin);
    PyMem_Free(run);
    return found;
}

/* Rows of a range that is saved to a tier. */

#define INNER PROPERTY_INNER_BASE
#define SPECIAL_ROW (SYS_INNER_BATCH | SYS_BORN_HOST_V6 | SYS_STORE_HOST_V6)

static int is_ascii_text(const uint8_t *text, Py_ssize_t size) {
    uint8_t bits = 0;
    for (Py_ssize_t at = 0; at < size; at++)
        bits |= text[at];
    return bits < 128;
}

/* The last values of the properties that have keys; a size of 0 where one is missing or empty. */
typedef struct {
    Text tags, unique, others;
} Keys;

static int has_value(Text property, const char *name, Text *value) {
    Py_ssize_t size = (Py_ssize_t)strlen(name);
    if (property.size <= size || memcmp(property.at, name, (size_t)size) != 0)
        return 0;
    *value = (Text){property.at + size, property.size - size};
    return 1;
}

static Keys keys_in(const uint8_t *text, Py_ssize_t size) {
    Keys keys = {{text, 0}, {text, 0}, {text, 0}};
    for (const uint8_t *at = text, *end = text + size, *next; at < end; at = next + 1) {
        next = memchr(at, PROPERTY_SEPARATOR_BYTE, (size_t)(end - at));
        if (next == NULL)
            next = end;
        Text property = {at, next - at};
        if (!has_value(property, PROPERTY_TAGS NAME_VALUE_SEPARATOR, &keys.tags) &&
            !has_value(property, PROPERTY_UNIQ_KEY NAME_VALUE_SEPARATOR, &keys.unique))
            has_value(property, PROPERTY_KEYS NAME_VALUE_SEPARATOR, &keys.others);
    }
    return keys;
}

/* The hashes of the keys of a topic, in the order of walk.hashes_of; their number, or -1 where they are too many. */
static int hashes_of(const Keys *keys, const Plain *plain, uint32_t *hashes) {
    uint32_t topic = hash_behind(0, plain->topic, plain->topic_size) * 31 + '#';
    int count = 0;
    if (keys->unique.size > 0)
        hashes[count++] = positive_hash(hash_behind(topic, keys->unique.at, keys->unique.size));
    const uint8_t *at = keys->others.at, *end = at + keys->others.size, *next;
    for (; keys->others.size > 0 && at < end; at = next + 1) {
        next = memchr(at, MESSAGE_KEY_SEPARATOR_BYTE, (size_t)(end - at));
        if (next == NULL)
            next = end;
        if (next > at && count == ROW_HASHES_MAX)
            return -1;
        if (next > at)
            hashes[count++] = positive_hash(hash_behind(topic, at, next - at));
    }
    if (keys->tags.size > 0 && count == ROW_HASHES_MAX)
        return -1;
    if (keys->tags.size > 0)
        hashes[count++] = positive_hash(hash_behind((topic * 31 + 'T') * 31 + '#', keys->tags.at, keys->tags.size));
    return count;
}

/* Adds the row of the record at `at` to a list; the record's size, 0 where it is not plain, -1 with an exception. */
static Py_ssize_t add_row(const uint8_t *at, Py_ssize_t rest, int64_t place, PyObject **topic, PyObject *rows) {
    Plain plain;
    uint32_t hashes[ROW_HASHES_MAX];
    if (!read_plain(at, rest, SPECIAL_ROW, &plain) || get8(at + 28) != place ||
        (crc32_of(plain.body, plain.body_size) & 0x7FFFFFFFu) != get4(at + 8))
        return 0;
    if (memchr(plain.topic, 0, (size_t)plain.topic_size) != NULL || memchr(plain.text, 0, (size_t)plain.text_size) != NULL ||
        !is_ascii_text(plain.topic, plain.topic_size) || !is_ascii_text(plain.text, plain.text_size) ||
        may_end_with_crc(plain.text, plain.text_size) || has(plain.text, plain.text_size, INNER))
        return 0;
    Keys keys = keys_in(plain.text, plain.text_size);
    int count = hashes_of(&keys, &plain, hashes);
    if (count < 0)
        return 0;
    if (*topic == NULL || PyBytes_GET_SIZE(*topic) != plain.topic_size ||
        memcmp(PyBytes_AS_STRING(*topic), plain.topic, (size_t)plain.topic_size) != 0)
        Py_XSETREF(*topic, PyBytes_FromStringAndSize((const char *)plain.topic, plain.topic_size));
    PyObject *found = PyTuple_New(count);
    if (*topic == NULL || found == NULL) {
        Py_XDECREF(found);
        return -1;
    }
    for (int number = 0; number < count; number++) {
        PyObject *hash = PyLong_FromUnsignedLong(hashes[number]);
        if (hash == NULL) {
            Py_DECREF(found);
            return -1;
        }
        PyTuple_SET_ITEM(found, number, hash);
    }
    int32_t code = (int32_t)hash_behind(0, keys.tags.at, keys.tags.size);
    PyObject *row = Py_BuildValue("(OiLiLniN)", *topic, (int)get4(at + 12), (long long)get8(at + 20), (int)get4(at + 36),
                                  (long long)get8(at + 56), plain.size, (int)code, found);
    int status = row == NULL ? -1 : PyList_Append(rows, row);
    Py_XDECREF(row);
    return status < 0 ? -1 : plain.size;
}

const char native_record_rows_doc[] = "record_rows(data, at, end, position, most)\n--\n\n"
"The rows of at most `most` plain records of data that lie back to back from `at` on, at `position` of the log, and where they\n"
"end, at `end` or before.\n\n"
"In Python: tier.rows.RowReader.rows.";

PyObject *native_record_rows(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given) {
    if (given != 5 || !PyBytes_CheckExact(args[0])) {
        PyErr_SetString(PyExc_TypeError, "bytes and four numbers are wanted");
        return NULL;
    }
    long long numbers[4];
    if (!read_numbers(args + 1, 4, numbers))
        return NULL;
    long long begin = numbers[0], end = Py_MIN(numbers[1], (long long)PyBytes_GET_SIZE(args[0])), at = begin;
    if (begin < 0) {
        PyErr_SetString(PyExc_ValueError, "a place before the data");
        return NULL;
    }
    const uint8_t *data = (const uint8_t *)PyBytes_AS_STRING(args[0]);
    PyObject *rows = PyList_New(0), *topic = NULL;
    Py_ssize_t size = rows == NULL ? -1 : 1;
    for (; size > 0 && at < end && PyList_GET_SIZE(rows) < numbers[3]; at += size) {
        int64_t place = (int64_t)((uint64_t)numbers[2] + (uint64_t)(at - begin));
        size = add_row(data + at, end - at, place, &topic, rows);
        if (size < 0)
            break;
    }
    Py_XDECREF(topic);
    if (size >= 0)
        return Py_BuildValue("(NL)", rows, at);
    Py_XDECREF(rows);
    return NULL;
}
