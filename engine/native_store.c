/* Messages of batches, records, queue units and index entries; see native.c. */

#include "native.h"

#define ELEMENT_HEAD (RECORD_ELEMENT_SIZE_MIN - 2) /* size, magic, crc, flag, body length of a message in a client's batch */

/* A message of a client's batch. */

typedef struct {
    const uint8_t *begin, *body, *properties;
    Py_ssize_t size, body_length, properties_length;
} Element;

/* Whether there is one at `at`, by the rules of record.element_ends: the size that the client wrote is not looked at. */
static int read_element(const Py_buffer *data, Py_ssize_t at, Element *element) {
    Py_ssize_t room = data->len - at - ELEMENT_HEAD - 2; /* for body and properties */
    if (room < 0)
        return 0;
    const uint8_t *begin = (const uint8_t *)data->buf + at;
    int64_t body_length = (int32_t)get4(begin + 16);
    if (body_length < 0 || body_length > room)
        return 0;
    int64_t properties_at = ELEMENT_HEAD + body_length;
    int64_t properties_length = begin[properties_at] << 8 | begin[properties_at + 1];
    if (properties_length > INT16_MAX || properties_length > room - body_length)
        return 0;
    element->begin = begin;
    element->body = begin + ELEMENT_HEAD;
    element->properties = begin + properties_at + 2;
    element->size = (Py_ssize_t)(properties_at + 2 + properties_length);
    element->body_length = (Py_ssize_t)body_length;
    element->properties_length = (Py_ssize_t)properties_length;
    return 1;
}

const char native_element_sizes_doc[] = "element_sizes(elements)\n--\n\n"
"The bytes that each message of a batch takes in it; None where they do not add up, and where a message may have the\n"
"property of a Kafka producer, which is to be removed.\n\n"
"In Python: client_elements.split_batch.";

/* Only properties are searched: bodies may be long. */
static int may_name_producer(const Element *element) {
    static const char name[] = PROPERTY_KAFKA_PRODUCER "\1"; /* with NAME_VALUE_SEPARATOR_BYTE */
    return memmem(element->properties, (size_t)element->properties_length, name, sizeof name - 1) != NULL;
}

PyObject *native_element_sizes(PyObject *Py_UNUSED(module), PyObject *elements) {
    Py_buffer data;
    if (PyObject_GetBuffer(elements, &data, PyBUF_SIMPLE) < 0)
        return NULL;
    PyObject *sizes = PyList_New(0);
    Element element;
    for (Py_ssize_t at = 0; sizes != NULL && at < data.len; at += element.size) {
        if (!read_element(&data, at, &element) || may_name_producer(&element)) {
            Py_SETREF(sizes, Py_NewRef(Py_None));
            break;
        }
        PyObject *size = PyLong_FromSsize_t(element.size);
        if (size == NULL || PyList_Append(sizes, size) < 0)
            Py_CLEAR(sizes);
        Py_XDECREF(size);
    }
    if (sizes != NULL && data.len == 0)
        Py_SETREF(sizes, Py_NewRef(Py_None));
    PyBuffer_Release(&data);
    return sizes;
}

/* How long the records of all messages are; -1 with an exception where bytes do not add up. */
static Py_ssize_t records_length(const Py_buffer *data, Py_ssize_t rest) {
    Py_ssize_t total = 0;
    Element element;
    for (Py_ssize_t at = 0; at < data->len; at += element.size) {
        if (!read_element(data, at, &element)) {
            PyErr_SetString(PyExc_ValueError, "a batch that does not add up");
            return -1;
        }
        Py_ssize_t size = rest + element.size - ELEMENT_HEAD;
        if (size > INT32_MAX || total > PY_SSIZE_T_MAX - size) {
            PyErr_SetString(PyExc_OverflowError, "a record that is too long");
            return -1;
        }
        total += size;
    }
    return total;
}

const char native_batch_records_doc[] = "batch_records(elements, head, topic, queue_offset, physical_offset)\n--\n\n"
"The records of a batch's messages, one behind the other; `head` is that of any record of the batch, `topic` its\n"
"topic field, the offsets are those of the first record. Raises ValueError for bytes that do not add up.\n\n"
"In Python: record.encode_batch.";

PyObject *native_batch_records(PyObject *Py_UNUSED(module), PyObject *args) {
    Py_buffer data, head, topic;
    long long queue_offset, physical_offset;
    if (!PyArg_ParseTuple(args, "y*y*y*LL", &data, &head, &topic, &queue_offset, &physical_offset))
        return NULL;
    PyObject *records = NULL;
    Py_ssize_t rest = head.len + topic.len, length = -1;
    if (head.len < RECORD_HEAD_SIZE)
        PyErr_SetString(PyExc_ValueError, "a head that is too short");
    else
        length = records_length(&data, rest);
    if (length >= 0)
        records = PyBytes_FromStringAndSize(NULL, length);
    if (records != NULL) {
        uint8_t *record = (uint8_t *)PyBytes_AS_STRING(records);
        uint64_t number = (uint64_t)queue_offset, place = (uint64_t)physical_offset;
        Element element;
        for (Py_ssize_t at = 0; at < data.len && read_element(&data, at, &element); at += element.size) {
            Py_ssize_t size = rest + element.size - ELEMENT_HEAD;
            memcpy(record, head.buf, (size_t)head.len);
            put4(record, (uint32_t)size);
            put4(record + 8, crc32_of(element.body, element.body_length) & 0x7FFFFFFFu);
            memcpy(record + 16, element.begin + 12, 4); /* the flag */
            put8(record + 20, number++);
            put8(record + 28, place);
            put4(record + head.len - 4, (uint32_t)element.body_length);
            uint8_t *to = record + head.len;
            memcpy(to, element.body, (size_t)element.body_length);
            to += element.body_length;
            memcpy(to, topic.buf, (size_t)topic.len);
            memcpy(to + topic.len, element.properties - 2, (size_t)element.properties_length + 2);
            record += size;
            place += (uint64_t)size;
        }
    }
    PyBuffer_Release(&data);
    PyBuffer_Release(&head);
    PyBuffer_Release(&topic);
    return records;
}

static const char KEY_FIRST[] = PROPERTY_UNIQ_KEY NAME_VALUE_SEPARATOR;
#define KEY_AT ((Py_ssize_t)sizeof KEY_FIRST - 1)

/* The length of the unique key in properties that say no more; 0 where they do. */
static Py_ssize_t lone_key(const uint8_t *text, Py_ssize_t length) {
    static const char waits[] = PROPERTY_WAIT_STORE_MSG_OK NAME_VALUE_SEPARATOR "true" PROPERTY_SEPARATOR;
    if (length <= KEY_AT || memcmp(text, KEY_FIRST, (size_t)KEY_AT) != 0)
        return 0;
    Py_ssize_t end = KEY_AT;
    while (end < length && Py_ISALNUM(text[end]))
        end++;
    if (end < length && text[end] != PROPERTY_SEPARATOR_BYTE)
        return 0;
    Py_ssize_t rest = length - end - 1, most = (Py_ssize_t)sizeof waits - 1;
    if (rest > 0 && ((rest != most && rest != most - 1) || memcmp(text + end + 1, waits, (size_t)rest) != 0))
        return 0;
    return end - KEY_AT;
}

const char native_unique_keys_doc[] = "unique_keys(elements)\n--\n\n"
"The unique keys of a batch's messages, whose properties say no more; None where one is not so.\n\n"
"In Python: message.lone_unique_keys.";

PyObject *native_unique_keys(PyObject *Py_UNUSED(module), PyObject *elements) {
    Py_buffer data;
    if (PyObject_GetBuffer(elements, &data, PyBUF_SIMPLE) < 0)
        return NULL;
    PyObject *keys = PyList_New(0);
    Py_ssize_t length = 0;
    Element element;
    for (Py_ssize_t at = 0; keys != NULL && at < data.len; at += element.size) {
        Py_ssize_t found = 0;
        if (read_element(&data, at, &element))
            found = lone_key(element.properties, element.properties_length);
        if ((found != UNIQUE_KEY_LENGTH && found != UNIQUE_KEY_LENGTH_V6) || (length != 0 && found != length)) {
            Py_SETREF(keys, Py_NewRef(Py_None));
            break;
        }
        length = found;
        PyObject *key = PyBytes_FromStringAndSize((const char *)element.properties + KEY_AT, found);
        if (key == NULL || PyList_Append(keys, key) < 0)
            Py_CLEAR(keys);
        Py_XDECREF(key);
    }
    PyBuffer_Release(&data);
    return keys;
}

const char native_key_hashes_doc[] = "key_hashes(begin, keys)\n--\n\n"
"Java's hashes, never negative, of texts that begin with one whose hash is `begin` and end with these bytes.\n\n"
"In Python: index_file.KeyHashes.of_bytes.";

PyObject *native_key_hashes(PyObject *Py_UNUSED(module), PyObject *args) {
    unsigned long long begin;
    PyObject *given;
    if (!PyArg_ParseTuple(args, "KO", &begin, &given))
        return NULL;
    PyObject *keys = PySequence_Fast(given, "keys are a sequence");
    if (keys == NULL)
        return NULL;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(keys);
    PyObject *hashes = PyList_New(count);
    for (Py_ssize_t number = 0; hashes != NULL && number < count; number++) {
        PyObject *key = PySequence_Fast_GET_ITEM(keys, number);
        if (!PyBytes_Check(key)) {
            PyErr_SetString(PyExc_TypeError, "a key is bytes");
            Py_CLEAR(hashes);
            break;
        }
        const uint8_t *text = (const uint8_t *)PyBytes_AS_STRING(key);
        PyObject *hash = PyLong_FromUnsignedLong(positive_hash(hash_behind((uint32_t)begin, text, PyBytes_GET_SIZE(key))));
        if (hash == NULL)
            Py_CLEAR(hashes);
        else
            PyList_SET_ITEM(hashes, number, hash);
    }
    Py_DECREF(keys);
    return hashes;
}

const char native_key_hash_doc[] = "key_hash(begin, key)\n--\n\n"
"As `key_hashes`, of a text; -1 for one that is not of ASCII characters.\n\n"
"In Python: index_file.KeyHashes.of_key.";

PyObject *native_key_hash(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    unsigned long begin = count == 2 ? PyLong_AsUnsignedLongMask(args[0]) : (unsigned long)-1;
    if (begin == (unsigned long)-1) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "a hash and a text");
        return NULL;
    }
    if (!is_ascii(args[1]))
        return PyLong_FromLong(-1);
    const uint8_t *text = PyUnicode_1BYTE_DATA(args[1]);
    return PyLong_FromUnsignedLong(positive_hash(hash_behind((uint32_t)begin, text, PyUnicode_GET_LENGTH(args[1]))));
}

const char native_queue_units_doc[] = "queue_units(physical_offset, sizes)\n--\n\n"
"Units without a tag, for a consume queue, of records of these sizes that lie one behind the other.\n\n"
"In Python: consume_queue.UNIT.";

PyObject *native_queue_units(PyObject *Py_UNUSED(module), PyObject *args) {
    long long place;
    PyObject *sizes;
    if (!PyArg_ParseTuple(args, "LO!", &place, &PyList_Type, &sizes))
        return NULL;
    Py_ssize_t count = PyList_GET_SIZE(sizes);
    PyObject *units = PyBytes_FromStringAndSize(NULL, count * QUEUE_UNIT_SIZE);
    if (units == NULL)
        return NULL;
    uint8_t *unit = (uint8_t *)PyBytes_AS_STRING(units);
    for (Py_ssize_t number = 0; number < count; number++, unit += QUEUE_UNIT_SIZE) {
        PyObject *given = PyList_GET_ITEM(sizes, number);
        long long size = PyLong_Check(given) ? PyLong_AsLongLong(given) : -1;
        if (size < 0 || size > INT32_MAX) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "a size that is none");
            Py_DECREF(units);
            return NULL;
        }
        put8(unit, (uint64_t)place);
        put4(unit + 8, (uint32_t)size);
        put8(unit + 12, 0);
        place = (long long)((uint64_t)place + (uint64_t)size);
    }
    return units;
}

static char *put_hex(char *to, const uint8_t *bytes, Py_ssize_t length) {
    static const char digits[] = "0123456789ABCDEF";
    for (Py_ssize_t at = 0; at < length; at++) {
        *to++ = digits[bytes[at] >> 4];
        *to++ = digits[bytes[at] & 15];
    }
    return to;
}

const char native_message_ids_doc[] = "message_ids(store_host, physical_offsets)\n--\n\n"
"The ids of messages of one host at these places, separated by commas.\n\n"
"In Python: message.offset_message_ids.";

PyObject *native_message_ids(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given) {
    if (given != 2 || !PyBytes_CheckExact(args[0]) || !(PyList_CheckExact(args[1]) || PyTuple_CheckExact(args[1]))) {
        PyErr_SetString(PyExc_TypeError, "a host in bytes, and a list or tuple of places");
        return NULL;
    }
    Py_ssize_t count = PySequence_Fast_GET_SIZE(args[1]), host = PyBytes_GET_SIZE(args[0]);
    PyObject *made = PyUnicode_New(count == 0 ? 0 : count * (2 * (host + 8) + 1) - 1, 127);
    char *to = made == NULL ? NULL : (char *)PyUnicode_1BYTE_DATA(made);
    for (Py_ssize_t number = 0; made != NULL && number < count; number++) {
        PyObject *item = PySequence_Fast_GET_ITEM(args[1], number);
        long long place = PyLong_Check(item) ? PyLong_AsLongLong(item) : -1;
        if (place < 0) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "a place that is none");
            Py_CLEAR(made);
            break;
        }
        uint8_t bytes[8];
        put8(bytes, (uint64_t)place);
        if (number > 0)
            *to++ = ',';
        to = put_hex(to, (const uint8_t *)PyBytes_AS_STRING(args[0]), host);
        to = put_hex(to, bytes, 8);
    }
    return made;
}

const char native_index_entries_doc[] = "index_entries(window, slot_count, first, begin, taken)\n--\n\n"
"Enter (hash, physical offset, store time ms) into the slots of an index file from entry `first` on; its times count\n"
"from `begin`. Gives the entries as bytes, and how many slots were not used before.\n\n"
"In Python: index_file.entries_of.";

PyObject *native_index_entries(PyObject *Py_UNUSED(module), PyObject *args) {
    Py_buffer window;
    long long slot_count, first, begin;
    PyObject *taken;
    if (!PyArg_ParseTuple(args, "w*LLLO!", &window, &slot_count, &first, &begin, &PyList_Type, &taken))
        return NULL;
    Py_ssize_t count = PyList_GET_SIZE(taken);
    PyObject *entries = NULL;
    long long used = 0;
    if (slot_count <= 0 || slot_count > (window.len - INDEX_HEADER_SIZE) / 4 || first < 1 || first > INT32_MAX - count)
        PyErr_SetString(PyExc_ValueError, "a window that does not hold the slots, or a number that is none");
    else
        entries = PyBytes_FromStringAndSize(NULL, count * INDEX_ENTRY_SIZE);
    for (Py_ssize_t number = 0; entries != NULL && number < count; number++) {
        PyObject *one = PyList_GET_ITEM(taken, number);
        long long hash = -1, offset = 0, time = 0;
        if (PyTuple_Check(one) && PyTuple_GET_SIZE(one) == 3 && PyLong_Check(PyTuple_GET_ITEM(one, 0)) &&
            PyLong_Check(PyTuple_GET_ITEM(one, 1)) && PyLong_Check(PyTuple_GET_ITEM(one, 2))) {
            hash = PyLong_AsLongLong(PyTuple_GET_ITEM(one, 0));
            offset = PyLong_AsLongLong(PyTuple_GET_ITEM(one, 1));
            time = PyLong_AsLongLong(PyTuple_GET_ITEM(one, 2));
        }
        if (PyErr_Occurred() || hash < 0 || hash > INT32_MAX) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "a hash that is none");
            Py_CLEAR(entries);
            break;
        }
        uint8_t *slot = (uint8_t *)window.buf + INDEX_HEADER_SIZE + hash % slot_count * 4;
        int64_t entry = first + number, previous = (int32_t)get4(slot);
        if (previous <= 0 || previous >= entry) {
            previous = 0;
            used++;
        }
        uint64_t seconds = time < begin ? 0 : ((uint64_t)time - (uint64_t)begin) / 1000;
        uint8_t *to = (uint8_t *)PyBytes_AS_STRING(entries) + number * INDEX_ENTRY_SIZE;
        put4(to, (uint32_t)hash);
        put8(to + 4, (uint64_t)offset);
        put4(to + 12, seconds > INDEX_SECONDS_MAX ? INDEX_SECONDS_MAX : (uint32_t)seconds);
        put4(to + 16, (uint32_t)previous);
        put4(slot, (uint32_t)entry);
    }
    PyBuffer_Release(&window);
    return entries == NULL ? NULL : Py_BuildValue("NL", entries, used);
}

const char native_record_doc[] = "record(*, size, queue_id, flag, queue_offset, physical_offset, sys_flag, born_timestamp, born_host,\n"
"    store_timestamp, store_host, reconsume_times, prepared, body, topic, properties)\n--\n\n"
"The record with these numbers and bytes, `topic` being magic and topic field; None where a number has too many bits, or the\n"
"size is not what they take.\n\n"
"In Python: record.encode.";

/* In the order of a record: numbers of 4 and 8 bytes, and bytes. A call with more than 15 names makes a dictionary of them. */
#define RECORD_PARTS(PART) \
    PART(SIZE, "size", 'i') PART(QUEUE_ID, "queue_id", 'i') PART(FLAG, "flag", 'i') PART(QUEUE_OFFSET, "queue_offset", 'q') \
    PART(PLACE, "physical_offset", 'q') PART(SYS_FLAG, "sys_flag", 'i') PART(BORN, "born_timestamp", 'q') \
    PART(BORN_HOST, "born_host", 'b') PART(STORED, "store_timestamp", 'q') PART(STORE_HOST, "store_host", 'b') \
    PART(TURNS, "reconsume_times", 'i') PART(PREPARED, "prepared", 'q') PART(BODY, "body", 'b') PART(TOPIC, "topic", 'b') \
    PART(PROPERTIES, "properties", 'b')
#define PART_PLACE(place, name, kind) place,
#define PART_NAME(place, name, kind) name,
#define PART_KIND(place, name, kind) kind,

enum { RECORD_PARTS(PART_PLACE) PARTS };
static const char kinds[] = {RECORD_PARTS(PART_KIND)};
static Named parts = {PARTS, {RECORD_PARTS(PART_NAME)}, {NULL}};

/* Whether it is a number of so many bits. */
static int read_number(PyObject *given, char kind, long long *number) {
    int overflow = 1;
    *number = PyLong_Check(given) ? PyLong_AsLongLongAndOverflow(given, &overflow) : 0;
    return !overflow && (kind == 'q' || *number == (int32_t)*number);
}

/* What the parts of a record take beside their bytes; -1 where one is none of its kind. */
static Py_ssize_t read_parts(PyObject **args, long long numbers[PARTS]) {
    Py_ssize_t size = RECORD_HEAD_SIZE - 16 + 2;
    for (int part = 0; part < PARTS; part++) {
        if (kinds[part] != 'b') {
            if (!read_number(args[part], kinds[part], &numbers[part]))
                return -1;
        } else if (!PyBytes_CheckExact(args[part]))
            return -1;
        else
            size += PyBytes_GET_SIZE(args[part]);
    }
    return size;
}

static uint8_t *put_bytes(uint8_t *to, PyObject *bytes) {
    memcpy(to, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
    return to + PyBytes_GET_SIZE(bytes);
}

PyObject *native_record(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t unnamed, PyObject *names) {
    PyObject *args[PARTS];
    long long numbers[PARTS], magic;
    if (!take_named(given, unnamed, names, &parts, args))
        return NULL;
    if (!PyTuple_CheckExact(args[TOPIC]) || PyTuple_GET_SIZE(args[TOPIC]) != 2 ||
        !read_number(PyTuple_GET_ITEM(args[TOPIC], 0), 'i', &magic))
        Py_RETURN_NONE;
    args[TOPIC] = PyTuple_GET_ITEM(args[TOPIC], 1);
    Py_ssize_t size = read_parts(args, numbers);
    if (size < 0 || size != numbers[SIZE] || PyBytes_GET_SIZE(args[PROPERTIES]) > RECORD_PROPERTIES_LENGTH_MAX)
        Py_RETURN_NONE;
    PyObject *made = PyBytes_FromStringAndSize(NULL, size);
    if (made == NULL)
        return NULL;
    uint8_t *to = (uint8_t *)PyBytes_AS_STRING(made);
    const uint8_t *body = (const uint8_t *)PyBytes_AS_STRING(args[BODY]);
    put4(to, (uint32_t)size);
    put4(to + 4, (uint32_t)magic);
    put4(to + 8, crc32_of(body, PyBytes_GET_SIZE(args[BODY])) & 0x7FFFFFFFu);
    to += 12;
    for (int part = QUEUE_ID; part < PARTS; part++) {
        if (part == BODY) {
            put4(to, (uint32_t)PyBytes_GET_SIZE(args[BODY]));
            to += 4;
        } else if (part == PROPERTIES) {
            *to++ = (uint8_t)(PyBytes_GET_SIZE(args[PROPERTIES]) >> 8);
            *to++ = (uint8_t)PyBytes_GET_SIZE(args[PROPERTIES]);
        }
        if (kinds[part] == 'b')
            to = put_bytes(to, args[part]);
        else if (kinds[part] == 'i') {
            put4(to, (uint32_t)numbers[part]);
            to += 4;
        } else {
            put8(to, (uint64_t)numbers[part]);
            to += 8;
        }
    }
    return made;
}
