/* Stored records of messages as records of Kafka; see native.c. */

#include "native.h"

static uint8_t *put_signed(uint8_t *to, int64_t value) { return put_varint(to, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0)); }

static uint8_t *put_data(uint8_t *to, Text data) {
    to = put_signed(to, data.size);
    memcpy(to, data.at, (size_t)data.size);
    return to + data.size;
}

/* Key and headers of a message. */
typedef struct {
    Text key, names[NAMES_MAX], values[NAMES_MAX];
    int count, has_key;
} Fields;

/* Takes a property; zero where that needs a closer look. */
static int take_property(Fields *fields, Text name, Text value) {
    static const char own[] = MESSAGE_KAFKA_PREFIX;
    if (name.size == 0 || value.size == 0)
        return 1;
    if (is_same(name, PROPERTY_KEYS)) {
        int is_first = !fields->has_key;
        fields->has_key = 1;
        fields->key = value;
        return is_first && is_text(value);
    }
    if (!is_header(name))
        return is_ascii_name(name) && (is_same(name, PROPERTY_KAFKA_PRODUCER) || (size_t)name.size < sizeof own - 1 ||
                                       memcmp(name.at, own, sizeof own - 1) != 0);
    if (has_name(fields->names, fields->count, name) || fields->count == NAMES_MAX || !is_text(value))
        return 0;
    fields->names[fields->count] = name;
    fields->values[fields->count++] = value;
    return 1;
}

static int take_properties(Fields *fields, const uint8_t *at, const uint8_t *end) {
    while (at < end) {
        const uint8_t *stop = memchr(at, PROPERTY_SEPARATOR_BYTE, (size_t)(end - at));
        stop = stop == NULL ? end : stop;
        const uint8_t *middle = memchr(at, NAME_VALUE_SEPARATOR_BYTE, (size_t)(stop - at));
        if (middle != NULL && !take_property(fields, (Text){at, middle - at}, (Text){middle + 1, stop - middle - 1}))
            return 0;
        at = stop + 1;
    }
    return 1;
}

/* A batch as far as it is built. */
typedef struct {
    PyObject *records;
    long long base_offset, base_timestamp, max_timestamp, last_offset, added, bodies;
    int is_empty;
} Building;

#define VARINTS (1 + 10 + 3 * 5) /* attributes, deltas, and the number of headers, at the most; a length has 5 bytes */

/* Adds the message of a record to the batch. 1, or 0 where it is not like most, or -1 with an exception. */
static int add_message(Building *building, const Plain *plain) {
    int64_t offset = get8(plain->head + 20), born = get8(plain->head + 40), time = born < -1 ? -1 : born;
    Fields fields = {.count = 0, .has_key = 0};
    if (!take_properties(&fields, plain->text, plain->text + plain->text_size))
        return 0;
    long long base_offset = building->is_empty ? offset : building->base_offset;
    if (base_offset < 0 || offset < base_offset || offset - base_offset > INT32_MAX)
        return 0;
    int64_t base_timestamp = building->is_empty ? time : building->base_timestamp;
    Py_ssize_t before = PyByteArray_GET_SIZE(building->records);
    Py_ssize_t most = 2 * VARINTS + plain->size + 10 * fields.count; /* the properties are no shorter than key and headers */
    if (PyByteArray_Resize(building->records, before + 5 + most) < 0)
        return -1;
    uint8_t *begin = (uint8_t *)PyByteArray_AS_STRING(building->records) + before, *to = begin + 5;
    *to++ = 0;
    to = put_signed(to, (int64_t)((uint64_t)time - (uint64_t)base_timestamp));
    to = put_signed(to, offset - base_offset);
    if (fields.has_key)
        to = put_data(to, fields.key);
    else
        *to++ = 1;
    to = put_data(to, (Text){plain->body, plain->body_size});
    to = put_signed(to, fields.count);
    for (int number = 0; number < fields.count; number++)
        to = put_data(put_data(to, fields.names[number]), fields.values[number]);
    Py_ssize_t size = to - begin - 5;
    uint8_t *from = put_signed(begin, size);
    memmove(from, begin + 5, (size_t)size);
    if (PyByteArray_Resize(building->records, before + (from - begin) + size) < 0)
        return -1;
    building->max_timestamp = building->is_empty || time > building->max_timestamp ? time : building->max_timestamp;
    building->base_offset = base_offset;
    building->base_timestamp = base_timestamp;
    building->last_offset = offset;
    building->is_empty = 0;
    building->added++;
    building->bodies += plain->body_size;
    return 1;
}

const char native_add_messages_doc[] =
    "add_messages(*, data, at, least, most, room, base_offset, base_timestamp, max_timestamp, is_empty, records)\n--\n\n"
    "Adds the messages of stored records from `at` on to the records of a batch, without those before the queue offset `least`.\n"
    "Where it ended, how many it added, the bytes of their bodies, the base offset and base timestamp of the batch, its greatest\n"
    "timestamp and last offset. It ends before a record that is not like most, after `most` messages or `room` bytes of bodies.\n\n"
    "In Python: record_batches.mapping.BatchBuilder.add.";

#define BUILDING(ARGUMENT) \
    ARGUMENT(DATA, "data") ARGUMENT(AT, "at") ARGUMENT(LEAST, "least") ARGUMENT(MOST, "most") ARGUMENT(ROOM, "room") \
    ARGUMENT(BASE_OFFSET, "base_offset") ARGUMENT(BASE_TIMESTAMP, "base_timestamp") ARGUMENT(MAX_TIMESTAMP, "max_timestamp") \
    ARGUMENT(IS_EMPTY, "is_empty") ARGUMENT(RECORDS, "records")

enum { BUILDING(AS_PLACE) GIVEN };
static Named named = {GIVEN, {BUILDING(AS_NAME)}, {NULL}};

PyObject *native_add_messages(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t unnamed, PyObject *names) {
    PyObject *args[GIVEN];
    long long numbers[GIVEN];
    Py_buffer data;
    const uint32_t unusual = SYS_COMPRESSED | SYS_INNER_BATCH | SYS_BORN_HOST_V6 | SYS_STORE_HOST_V6;
    if (!take_named(given, unnamed, names, &named, args) || !read_numbers(args + AT, RECORDS - AT, numbers + AT))
        return NULL;
    if (!PyByteArray_CheckExact(args[RECORDS])) {
        PyErr_SetString(PyExc_TypeError, "records are a bytearray");
        return NULL;
    }
    if (PyObject_GetBuffer(args[DATA], &data, PyBUF_SIMPLE) < 0)
        return NULL;
    Building building = {
        .records = args[RECORDS], .base_offset = numbers[BASE_OFFSET], .base_timestamp = numbers[BASE_TIMESTAMP],
        .max_timestamp = numbers[MAX_TIMESTAMP], .last_offset = numbers[BASE_OFFSET], .is_empty = numbers[IS_EMPTY] != 0,
    };
    long long at = numbers[AT];
    int taken = 1;
    Plain plain;
    if (at < 0 || at > data.len)
        PyErr_SetString(PyExc_ValueError, "a place that cannot be");
    else
        while (at < data.len && building.added < numbers[MOST] && building.bodies < numbers[ROOM] &&
               read_plain((const uint8_t *)data.buf + at, data.len - (Py_ssize_t)at, unusual, &plain)) {
            taken = get8(plain.head + 20) < numbers[LEAST] ? 1 : add_message(&building, &plain);
            if (taken <= 0)
                break;
            at += plain.size;
        }
    PyBuffer_Release(&data);
    if (PyErr_Occurred())
        return NULL;
    return Py_BuildValue("LLLLLLL", at, building.added, building.bodies, building.base_offset, building.base_timestamp,
                         building.max_timestamp, building.last_offset);
}
