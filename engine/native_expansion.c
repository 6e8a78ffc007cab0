/* Records of Kafka as stored records of messages; see native.c. */

#include "native.h"

#define UNIQUE_MAX 64
#define TEXT_MAX (2 * MAPPING_SURELY_FITS + 2 * UNIQUE_MAX)
#define DIGITS 10 /* of a checksum that ends a record */

static const char *const system_properties[] = {MESSAGE_SYSTEM_PROPERTIES};
#define SYSTEM_COUNT ((int)(sizeof system_properties / sizeof *system_properties))

int is_same(Text text, const char *other) {
    return strlen(other) == (size_t)text.size && memcmp(text.at, other, (size_t)text.size) == 0;
}

int has_name(const Text *names, Py_ssize_t count, Text name) {
    for (Py_ssize_t number = 0; number < count; number++)
        if (names[number].size == name.size && memcmp(names[number].at, name.at, (size_t)name.size) == 0)
            return 1;
    return 0;
}

/* Whether brokers or clients give a property of this name a meaning. */
static int is_system(Text name) {
    int low = 0, high = SYSTEM_COUNT;
    while (low < high) {
        int middle = (low + high) / 2;
        const char *other = system_properties[middle];
        size_t size = strlen(other), least = size < (size_t)name.size ? size : (size_t)name.size;
        int order = memcmp(name.at, other, least);
        if (order == 0 && size == (size_t)name.size)
            return 1;
        if (order > 0 || (order == 0 && (size_t)name.size > size))
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

int is_ascii_name(Text name) {
    for (Py_ssize_t at = 0; at < name.size; at++)
        if (name.at[at] <= PROPERTY_SEPARATOR_BYTE || name.at[at] > 0x7F)
            return 0;
    return name.size > 0;
}

int is_header(Text name) {
    static const char own[] = MESSAGE_KAFKA_PREFIX;
    Py_ssize_t prefix = (Py_ssize_t)sizeof own - 1;
    if (!is_ascii_name(name))
        return 0;
    if (is_same(name, PROPERTY_TAGS))
        return 1;
    return !(name.size >= prefix && memcmp(name.at, own, (size_t)prefix) == 0) && !is_system(name);
}

int is_text(Text text) {
    const uint8_t *at = text.at, *end = at + text.size;
    while (at < end) {
        uint8_t byte = *at++;
        if (byte <= 0x7F) {
            if (byte <= PROPERTY_SEPARATOR_BYTE)
                return 0;
            continue;
        }
        int more = byte >= 0xF0 ? 3 : byte >= 0xE0 ? 2 : 1;
        if (byte < 0xC2 || byte > 0xF4 || more > end - at)
            return 0;
        uint8_t least = byte == 0xE0 ? 0xA0 : byte == 0xF0 ? 0x90 : 0x80;
        uint8_t most = byte == 0xED ? 0x9F : byte == 0xF4 ? 0x8F : 0xBF;
        for (; more > 0; more--, at++, least = 0x80, most = 0xBF)
            if (*at < least || *at > most)
                return 0;
    }
    return text.size > 0;
}

/* Whether a property that ends here might be taken for a checksum, by the rule of mapping._is_plain, or by more. */
static int may_look_like_crc(const uint8_t *begin, const uint8_t *end) {
    if (end - begin < DIGITS + 2)
        return 0;
    for (int place = 1; place <= DIGITS; place++)
        if (end[-place] < '0' || end[-place] > '9')
            return 0;
    const uint8_t *before = end - DIGITS;
    return before[-1] > 0x7F || before[-2] > 0x7F || before[-2] == '#' || (before - begin > 2 && before[-3] == '2');
}

static uint8_t *put(uint8_t *to, const void *from, Py_ssize_t size) {
    memcpy(to, from, (size_t)size);
    return to + size;
}

/* Writes a property; NULL where its value is no text, or where a store would read it in another way. */
static uint8_t *put_property(uint8_t *to, Text name, Text value) {
    uint8_t *begin = to;
    if (!is_text(value))
        return NULL;
    to = put(to, name.at, name.size);
    *to++ = NAME_VALUE_SEPARATOR_BYTE;
    to = put(to, value.at, value.size);
    if (may_look_like_crc(begin, to))
        return NULL;
    *to++ = PROPERTY_SEPARATOR_BYTE;
    return to;
}

#define PUT_TEXT(to, text) put(to, text, (Py_ssize_t)sizeof(text) - 1)

static uint8_t *put_base64(uint8_t *to, Text data) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (Py_ssize_t at = 0; at < data.size; at += 3) {
        Py_ssize_t left = data.size - at;
        uint32_t bits = (uint32_t)data.at[at] << 16 | (left > 1 ? (uint32_t)data.at[at + 1] << 8 : 0) | (left > 2 ? data.at[at + 2] : 0);
        *to++ = (uint8_t)digits[bits >> 18];
        *to++ = (uint8_t)digits[bits >> 12 & 63];
        *to++ = (uint8_t)(left > 1 ? digits[bits >> 6 & 63] : '=');
        *to++ = (uint8_t)(left > 2 ? digits[bits & 63] : '=');
    }
    return to;
}

/* Writes the property of a key; NULL where that takes a closer look. */
static uint8_t *put_key(uint8_t *to, Text key) {
    static const Text name = {(const uint8_t *)PROPERTY_KEYS, (Py_ssize_t)sizeof PROPERTY_KEYS - 1};
    if (key.size <= MAPPING_KEYS_SIZE_MAX && is_text(key) && memchr(key.at, MESSAGE_KEY_SEPARATOR_BYTE, (size_t)key.size) == NULL)
        return put_property(to, name, key);
    to = PUT_TEXT(to, PROPERTY_KAFKA_KEY NAME_VALUE_SEPARATOR);
    to = key.size > 0 ? put_base64(to, key) : PUT_TEXT(to, "=");
    *to++ = PROPERTY_SEPARATOR_BYTE;
    return to;
}

/* Writes the properties of headers, and the hash of the one that is the tag; NULL where one of them cannot be a property. */
static uint8_t *put_headers(uint8_t *to, const Row *row, const uint8_t *end, int64_t *tags_code) {
    const uint8_t *at = row->headers;
    Text names[NAMES_MAX], value;
    for (Py_ssize_t number = 0; to != NULL && number < row->header_count; number++) {
        Text *name = &names[number];
        if (!take_data(&at, end, &name->at, &name->size) || !take_data(&at, end, &value.at, &value.size) || value.size < 0)
            return NULL;
        if (has_name(names, number, *name) || !is_header(*name))
            return NULL;
        to = put_property(to, *name, value);
        if (to == NULL || !is_same(*name, PROPERTY_TAGS))
            continue;
        for (Py_ssize_t place = 0; place < value.size; place++)
            if (value.at[place] > 0x7F)
                return NULL;
        *tags_code = (int32_t)hash_behind(0, value.at, value.size);
    }
    return to;
}

/* What the messages of a batch have in common. */
typedef struct {
    Text head, topic, key;
    int64_t base_offset;
} Common;

/* The size of the text of a record's properties, written to `text`; -1 where the record is not like most. */
static Py_ssize_t write_text(uint8_t *text, const Row *row, const uint8_t *end, const Common *common, int64_t *tags_code) {
    static const char digits[] = "0123456789ABCDEF";
    /* Names and values of headers, with what stands before each, are not less than the properties take. */
    if (row->header_count > NAMES_MAX || (row->key_size > 0 ? row->key_size : 0) + (end - row->headers) > MAPPING_SURELY_FITS)
        return -1;
    uint64_t offset = (uint64_t)(common->base_offset + row->offset_delta);
    uint8_t *to = put_headers(text, row, end, tags_code);
    if (to != NULL && row->key_size >= 0)
        to = put_key(to, (Text){row->key, row->key_size});
    if (to == NULL)
        return -1;
    if (row->value_size < 0)
        to = PUT_TEXT(to, PROPERTY_KAFKA_NULL NAME_VALUE_SEPARATOR "1" PROPERTY_SEPARATOR);
    to = PUT_TEXT(to, PROPERTY_UNIQ_KEY NAME_VALUE_SEPARATOR);
    to = put(to, common->key.at, common->key.size);
    for (int shift = 60; shift >= 0; shift -= 4)
        *to++ = (uint8_t)digits[offset >> shift & 15];
    *to++ = PROPERTY_SEPARATOR_BYTE;
    return to - text;
}

/* The stored record of a record. `None` where that is not like most. */
static PyObject *expanded(const Row *row, const uint8_t *end, int64_t timestamp, const Common *common) {
    uint8_t text[TEXT_MAX];
    int64_t tags_code = 0;
    Py_ssize_t text_size = timestamp < 0 ? -1 : write_text(text, row, end, common, &tags_code);
    if (text_size < 0)
        Py_RETURN_NONE;
    Py_ssize_t body_size = row->value_size < 0 ? 0 : row->value_size, head_size = common->head.size;
    Py_ssize_t size = head_size + body_size + common->topic.size + 2 + text_size;
    PyObject *made = PyBytes_FromStringAndSize(NULL, size);
    if (made == NULL)
        return NULL;
    uint8_t *record = (uint8_t *)PyBytes_AS_STRING(made), *to = put(record, common->head.at, head_size);
    put4(record, (uint32_t)size);
    put4(record + 8, crc32_of(row->value, body_size) & 0x7FFFFFFFu);
    put8(record + 20, (uint64_t)(common->base_offset + row->offset_delta));
    put8(record + 40, (uint64_t)timestamp);
    put4(to - 4, (uint32_t)body_size);
    to = put(to, row->value, body_size);
    to = put(to, common->topic.at, common->topic.size);
    *to++ = (uint8_t)(text_size >> 8);
    *to++ = (uint8_t)text_size;
    put(to, text, text_size);
    long long work = EXPANSION_RECORD_WORK + row->header_count;
    return Py_BuildValue("LLLN", (long long)(common->base_offset + row->offset_delta), (long long)tags_code, work, made);
}

const char native_record_starts_doc[] =
    "record_starts(data, at, count)\n--\n\nWhere each of so many records ends, of those that begin at a place, up to the first one whose\n"
    "end is not there: numbers of 64 bits of this machine.\n\nIn Python: store.expansion.ExpandedBatch._skip.";

PyObject *native_record_starts(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    Py_buffer data;
    long long numbers[2];
    if (!take_place(args, count, &data, numbers))
        return NULL;
    PyObject *ends = NULL;
    Py_ssize_t done = 0, most = (Py_ssize_t)numbers[1];
    if (numbers[1] < 0 || numbers[1] > data.len)
        PyErr_SetString(PyExc_ValueError, "a number that cannot be");
    else
        ends = PyBytes_FromStringAndSize(NULL, most * (Py_ssize_t)sizeof(int64_t));
    if (ends != NULL) {
        const uint8_t *begin = data.buf, *at = begin + numbers[0], *end = begin + data.len;
        int64_t length;
        for (; done < most && take_signed(&at, end, 32, &length) && length >= 0 && length <= end - at; done++) {
            at += length;
            int64_t place = at - begin;
            memcpy(PyBytes_AS_STRING(ends) + done * (Py_ssize_t)sizeof place, &place, sizeof place);
        }
        _PyBytes_Resize(&ends, done * (Py_ssize_t)sizeof(int64_t));
    }
    PyBuffer_Release(&data);
    return ends;
}

const char native_expand_records_doc[] =
    "expand_records(*, data, at, count, last, largest, wanted, most, room, head, topic, key, base_offset, base_timestamp,\n"
    "    has_deltas, found)\n--\n\n"
    "Adds queue offset, tags code, work and stored record of the records of a batch to a list, from `at` on where `count` begin,\n"
    "without those before the offset `wanted`. How many were looked at, and the offset delta of the last one. It ends before\n"
    "a record that is not like most, and when there are `most` messages, or `room` bytes of them.\n\n"
    "In Python: store.expansion.ExpandedBatch.messages.";

#define EXPANDING(ARGUMENT) \
    ARGUMENT(DATA, "data") ARGUMENT(AT, "at") ARGUMENT(COUNT, "count") ARGUMENT(LAST, "last") ARGUMENT(LARGEST, "largest") \
    ARGUMENT(WANTED, "wanted") ARGUMENT(MOST, "most") ARGUMENT(ROOM, "room") ARGUMENT(BASE_OFFSET, "base_offset") \
    ARGUMENT(BASE_TIMESTAMP, "base_timestamp") ARGUMENT(HAS_DELTAS, "has_deltas") ARGUMENT(HEAD, "head") \
    ARGUMENT(TOPIC, "topic") ARGUMENT(KEY, "key") ARGUMENT(FOUND, "found")

enum { EXPANDING(AS_PLACE) GIVEN };
static Named expanding = {GIVEN, {EXPANDING(AS_NAME)}, {NULL}};

/* Reads what the messages have in common; zero with an exception where that is none. */
static int read_common(PyObject *const *args, const long long *numbers, Common *common) {
    Text *texts[] = {&common->head, &common->topic, &common->key};
    for (int place = 0; place < 3; place++) {
        PyObject *given = args[HEAD + place];
        if (!PyBytes_CheckExact(given) || PyBytes_GET_SIZE(given) > INT16_MAX) {
            PyErr_SetString(PyExc_TypeError, "head, topic and key are bytes");
            return 0;
        }
        *texts[place] = (Text){(const uint8_t *)PyBytes_AS_STRING(given), PyBytes_GET_SIZE(given)};
    }
    common->base_offset = numbers[BASE_OFFSET];
    if (common->head.size < RECORD_HEAD_SIZE || common->key.size > UNIQUE_MAX) {
        PyErr_SetString(PyExc_ValueError, "a head or key that cannot be");
        return 0;
    }
    return 1;
}

/* Expands the records from `*from` on; how many were looked at. */
static Py_ssize_t expand(const uint8_t *at, const uint8_t *end, const long long *numbers, const Common *common, long long *last, PyObject *found) {
    Py_ssize_t done = 0;
    long long made = 0, room = numbers[ROOM];
    for (; done < numbers[COUNT] && made < numbers[MOST] && room > 0; done++) {
        const uint8_t *begin = at;
        int64_t elements = EXPANSION_HEADERS_MAX;
        Row row;
        if (!take_row(&at, end, &elements, &row) || row.offset_delta <= *last || row.offset_delta > numbers[LARGEST] ||
            (done + 1 == numbers[COUNT] ? end : at) - begin > EXPANSION_MESSAGE_MAX)
            break;
        if (common->base_offset + row.offset_delta >= numbers[WANTED]) {
            uint64_t delta = numbers[HAS_DELTAS] ? (uint64_t)row.timestamp_delta : 0;
            PyObject *one = expanded(&row, at, (int64_t)((uint64_t)numbers[BASE_TIMESTAMP] + delta), common);
            if (one == NULL || one == Py_None || PyList_Append(found, one) < 0) {
                Py_XDECREF(one);
                break;
            }
            room -= PyBytes_GET_SIZE(PyTuple_GET_ITEM(one, 3));
            made++;
            Py_DECREF(one);
        }
        *last = row.offset_delta;
    }
    return done;
}

PyObject *native_expand_records(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t unnamed, PyObject *names) {
    PyObject *args[GIVEN];
    long long numbers[GIVEN];
    Common common;
    Py_buffer data;
    if (!take_named(given, unnamed, names, &expanding, args) || !read_numbers(args + AT, HEAD - AT, numbers + AT) ||
        !read_common(args, numbers, &common))
        return NULL;
    if (!PyList_CheckExact(args[FOUND])) {
        PyErr_SetString(PyExc_TypeError, "a list is wanted");
        return NULL;
    }
    if (PyObject_GetBuffer(args[DATA], &data, PyBUF_SIMPLE) < 0)
        return NULL;
    Py_ssize_t done = 0;
    long long last = numbers[LAST];
    if (numbers[AT] < 0 || numbers[AT] > data.len)
        PyErr_SetString(PyExc_ValueError, "a place that cannot be");
    else if (common.base_offset >= 0 && common.base_offset <= INT64_MAX - INT32_MAX) {
        const uint8_t *begin = data.buf;
        done = expand(begin + numbers[AT], begin + data.len, numbers, &common, &last, args[FOUND]);
    }
    PyBuffer_Release(&data);
    return PyErr_Occurred() ? NULL : Py_BuildValue("nL", done, last);
}
