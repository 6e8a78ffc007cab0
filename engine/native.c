/* What the roads of a send do for each message or field, in C.

Each function has a form in Python that says what it has to give, named beside it; property tests compare the two
(tests/engine/test_extension.py). It is built with MQGATEWAY_COMPILE=1 only, and nothing needs it. No function keeps
anything between calls; all hold the interpreter's lock throughout. Bytes that come from a peer are measured before they
are read; numbers in them are big-endian. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#define ELEMENT_HEAD 20 /* size, magic, crc, flag, body length of a message in a client's batch */
#define RECORD_HEAD_MIN 88
#define INDEX_HEADER 40
#define INDEX_ENTRY 20
#define QUEUE_UNIT 20

static uint32_t get4(const uint8_t *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void put4(uint8_t *at, uint32_t value) {
    at[0] = (uint8_t)(value >> 24);
    at[1] = (uint8_t)(value >> 16);
    at[2] = (uint8_t)(value >> 8);
    at[3] = (uint8_t)value;
}

static void put8(uint8_t *at, uint64_t value) {
    put4(at, (uint32_t)(value >> 32));
    put4(at + 4, (uint32_t)value);
}

/* CRC-32 as zlib's, eight bytes at a time: crc_tables[n][b] is what byte b does n bytes later. */

static uint32_t crc_tables[8][256];

static void make_crc_tables(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
        crc_tables[0][byte] = crc;
    }
    for (int later = 1; later < 8; later++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t before = crc_tables[later - 1][byte];
            crc_tables[later][byte] = before >> 8 ^ crc_tables[0][before & 0xFF];
        }
}

static uint32_t crc32_of(const uint8_t *data, Py_ssize_t size) {
    uint32_t crc = 0xFFFFFFFFu;
    for (; size >= 8; data += 8, size -= 8)
        crc = crc_tables[7][(crc ^ data[0]) & 0xFF] ^ crc_tables[6][(crc >> 8 ^ data[1]) & 0xFF] ^
              crc_tables[5][(crc >> 16 ^ data[2]) & 0xFF] ^ crc_tables[4][crc >> 24 ^ data[3]] ^
              crc_tables[3][data[4]] ^ crc_tables[2][data[5]] ^ crc_tables[1][data[6]] ^ crc_tables[0][data[7]];
    for (; size > 0; data++, size--)
        crc = crc >> 8 ^ crc_tables[0][(crc ^ *data) & 0xFF];
    return ~crc;
}

/* A message of a client's batch. */

typedef struct {
    const uint8_t *begin, *body, *properties;
    Py_ssize_t size, body_length, properties_length;
} Element;

/* Whether there is one at `at`, by the rules of record.split_batch. */
static int read_element(const Py_buffer *data, Py_ssize_t at, Element *element) {
    Py_ssize_t room = data->len - at;
    if (room < ELEMENT_HEAD)
        return 0;
    const uint8_t *begin = (const uint8_t *)data->buf + at;
    int64_t size = (int32_t)get4(begin), body_length = (int32_t)get4(begin + 16);
    int64_t properties_at = ELEMENT_HEAD + body_length;
    if (body_length < 0 || size > room || properties_at + 2 > size)
        return 0;
    int64_t properties_length = begin[properties_at] << 8 | begin[properties_at + 1];
    if (properties_length > INT16_MAX || properties_at + 2 + properties_length != size)
        return 0;
    element->begin = begin;
    element->body = begin + ELEMENT_HEAD;
    element->properties = begin + properties_at + 2;
    element->size = (Py_ssize_t)size;
    element->body_length = (Py_ssize_t)body_length;
    element->properties_length = (Py_ssize_t)properties_length;
    return 1;
}

PyDoc_STRVAR(element_sizes_doc, "element_sizes(elements)\n--\n\n"
"The bytes that each message of a batch takes in it; None where they do not add up.\n\n"
"In Python: record.split_batch.");

static PyObject *element_sizes(PyObject *Py_UNUSED(module), PyObject *elements) {
    Py_buffer data;
    if (PyObject_GetBuffer(elements, &data, PyBUF_SIMPLE) < 0)
        return NULL;
    PyObject *sizes = PyList_New(0);
    Element element;
    for (Py_ssize_t at = 0; sizes != NULL && at < data.len; at += element.size) {
        if (!read_element(&data, at, &element)) {
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

PyDoc_STRVAR(batch_records_doc, "batch_records(elements, head, topic, queue_offset, physical_offset)\n--\n\n"
"The records of a batch's messages, one behind the other; `head` is that of any record of the batch, `topic` its\n"
"topic field, the offsets are those of the first record. Raises ValueError for bytes that do not add up.\n\n"
"In Python: record.encode_batch.");

static PyObject *batch_records(PyObject *Py_UNUSED(module), PyObject *args) {
    Py_buffer data, head, topic;
    long long queue_offset, physical_offset;
    if (!PyArg_ParseTuple(args, "y*y*y*LL", &data, &head, &topic, &queue_offset, &physical_offset))
        return NULL;
    PyObject *records = NULL;
    Py_ssize_t rest = head.len + topic.len, length = -1;
    if (head.len < RECORD_HEAD_MIN)
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

static const char KEY_FIRST[] = "UNIQ_KEY\1";
#define KEY_AT ((Py_ssize_t)sizeof KEY_FIRST - 1)

/* The length of the unique key in properties that say no more; 0 where they do. */
static Py_ssize_t lone_key(const uint8_t *text, Py_ssize_t length) {
    static const char waits[] = "WAIT\1true\2";
    if (length <= KEY_AT || memcmp(text, KEY_FIRST, (size_t)KEY_AT) != 0)
        return 0;
    Py_ssize_t end = KEY_AT;
    while (end < length && Py_ISALNUM(text[end]))
        end++;
    if (end < length && text[end] != 2)
        return 0;
    Py_ssize_t rest = length - end - 1, most = (Py_ssize_t)sizeof waits - 1;
    if (rest > 0 && ((rest != most && rest != most - 1) || memcmp(text + end + 1, waits, (size_t)rest) != 0))
        return 0;
    return end - KEY_AT;
}

PyDoc_STRVAR(unique_keys_doc, "unique_keys(elements)\n--\n\n"
"The unique keys of a batch's messages, whose properties say no more; None where one is not so.\n\n"
"In Python: message.lone_unique_keys.");

static PyObject *unique_keys(PyObject *Py_UNUSED(module), PyObject *elements) {
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
        if ((found != 32 && found != 56) || (length != 0 && found != length)) {
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

PyDoc_STRVAR(key_hashes_doc, "key_hashes(begin, keys)\n--\n\n"
"Java's hashes, never negative, of texts that begin with one whose hash is `begin` and end with these bytes.\n\n"
"In Python: index_file.KeyHashes.of_bytes.");

static PyObject *key_hashes(PyObject *Py_UNUSED(module), PyObject *args) {
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
        uint32_t value = (uint32_t)begin;
        for (Py_ssize_t at = 0; at < PyBytes_GET_SIZE(key); at++)
            value = value * 31 + text[at];
        if (value == 0x80000000u)
            value = 0; /* the one that has no positive counterpart */
        else if (value > 0x80000000u)
            value = 0u - value;
        PyObject *hash = PyLong_FromUnsignedLong(value);
        if (hash == NULL)
            Py_CLEAR(hashes);
        else
            PyList_SET_ITEM(hashes, number, hash);
    }
    Py_DECREF(keys);
    return hashes;
}

PyDoc_STRVAR(queue_units_doc, "queue_units(physical_offset, sizes)\n--\n\n"
"Units without a tag, for a consume queue, of records of these sizes that lie one behind the other.\n\n"
"In Python: consume_queue.UNIT.");

static PyObject *queue_units(PyObject *Py_UNUSED(module), PyObject *args) {
    long long place;
    PyObject *sizes;
    if (!PyArg_ParseTuple(args, "LO!", &place, &PyList_Type, &sizes))
        return NULL;
    Py_ssize_t count = PyList_GET_SIZE(sizes);
    PyObject *units = PyBytes_FromStringAndSize(NULL, count * QUEUE_UNIT);
    if (units == NULL)
        return NULL;
    uint8_t *unit = (uint8_t *)PyBytes_AS_STRING(units);
    for (Py_ssize_t number = 0; number < count; number++, unit += QUEUE_UNIT) {
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

PyDoc_STRVAR(index_entries_doc, "index_entries(window, slot_count, first, begin, taken)\n--\n\n"
"Enter (hash, physical offset, store time ms) into the slots of an index file from entry `first` on; its times count\n"
"from `begin`. Gives the entries as bytes, and how many slots were not used before.\n\n"
"In Python: index_file.entries_of.");

static PyObject *index_entries(PyObject *Py_UNUSED(module), PyObject *args) {
    Py_buffer window;
    long long slot_count, first, begin;
    PyObject *taken;
    if (!PyArg_ParseTuple(args, "w*LLLO!", &window, &slot_count, &first, &begin, &PyList_Type, &taken))
        return NULL;
    Py_ssize_t count = PyList_GET_SIZE(taken);
    PyObject *entries = NULL;
    long long used = 0;
    if (slot_count <= 0 || slot_count > (window.len - INDEX_HEADER) / 4 || first < 1 || first > INT32_MAX - count)
        PyErr_SetString(PyExc_ValueError, "a window that does not hold the slots, or a number that is none");
    else
        entries = PyBytes_FromStringAndSize(NULL, count * INDEX_ENTRY);
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
        uint8_t *slot = (uint8_t *)window.buf + INDEX_HEADER + hash % slot_count * 4;
        int64_t entry = first + number, previous = (int32_t)get4(slot);
        if (previous <= 0 || previous >= entry) {
            previous = 0;
            used++;
        }
        uint64_t seconds = time < begin ? 0 : ((uint64_t)time - (uint64_t)begin) / 1000;
        uint8_t *to = (uint8_t *)PyBytes_AS_STRING(entries) + number * INDEX_ENTRY;
        put4(to, (uint32_t)hash);
        put8(to + 4, (uint64_t)offset);
        put4(to + 12, seconds > INT32_MAX ? INT32_MAX : (uint32_t)seconds);
        put4(to + 16, (uint32_t)previous);
        put4(slot, (uint32_t)entry);
    }
    PyBuffer_Release(&window);
    return entries == NULL ? NULL : Py_BuildValue("NL", entries, used);
}

/* A number of 1 to 18 digits and nothing else that fits into so many bits, with its sign; NULL for any other. */
static PyObject *short_number(PyObject *text, long bits) {
    if (!PyUnicode_Check(text) || !PyUnicode_IS_COMPACT_ASCII(text))
        return NULL;
    const uint8_t *digits = PyUnicode_1BYTE_DATA(text);
    Py_ssize_t count = PyUnicode_GET_LENGTH(text);
    if (count < 1 || count > 18)
        return NULL;
    long long value = 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        if (digits[at] < '0' || digits[at] > '9')
            return NULL;
        value = value * 10 + (digits[at] - '0');
    }
    return bits == 32 && value > INT32_MAX ? NULL : PyLong_FromLongLong(value);
}

/* What a field's text says, by its `texts`, which may raise ValueError. */
static PyObject *value_of(PyObject *text, PyObject *texts, long bits) {
    if (texts == Py_None)
        return Py_NewRef(text);
    if (bits) {
        PyObject *number = short_number(text, bits);
        if (number != NULL || PyErr_Occurred())
            return number;
    }
    return PyObject_GetItem(texts, text);
}

PyDoc_STRVAR(header_doc, "header(cls, fields, ext)\n--\n\n"
"The header of a class whose fields are (name, wire name, texts or None, bits, whether it is required), in the text\n"
"fields of a command; None where one is missing or cannot be read.\n\n"
"In Python: the function `decode` that codec.fields makes for each class.");

static PyObject *header(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *cls, *fields, *ext;
    if (!PyArg_ParseTuple(args, "O!O!O!", &PyType_Type, &cls, &PyTuple_Type, &fields, &PyDict_Type, &ext))
        return NULL;
    PyObject *none = PyTuple_New(0);
    PyObject *made = none == NULL ? NULL : ((PyTypeObject *)cls)->tp_new((PyTypeObject *)cls, none, NULL);
    Py_XDECREF(none);
    for (Py_ssize_t at = 0; made != NULL && at < PyTuple_GET_SIZE(fields); at++) {
        PyObject *field = PyTuple_GET_ITEM(fields, at), *value = NULL;
        if (!PyTuple_Check(field) || PyTuple_GET_SIZE(field) != 5) {
            PyErr_SetString(PyExc_TypeError, "a field has five parts");
            Py_CLEAR(made);
            break;
        }
        PyObject *name = PyTuple_GET_ITEM(field, 0), *wire_name = PyTuple_GET_ITEM(field, 1);
        PyObject *texts = PyTuple_GET_ITEM(field, 2);
        long bits = PyLong_AsLong(PyTuple_GET_ITEM(field, 3));
        int is_required = PyTuple_GET_ITEM(field, 4) == Py_True;
        PyObject *text = PyDict_GetItemWithError(ext, wire_name);
        if (text == NULL && !PyErr_Occurred() && !is_required)
            continue;
        if (text == Py_None && !is_required)
            continue;
        if (text != NULL) {
            Py_INCREF(text);
            value = value_of(text, texts, bits);
            Py_DECREF(text);
        }
        int is_set = value != NULL && PyObject_SetAttr(made, name, value) == 0;
        Py_XDECREF(value);
        if (!is_set) {
            Py_CLEAR(made);
            if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_ValueError) && !PyErr_ExceptionMatches(PyExc_KeyError))
                return NULL;
            PyErr_Clear();
            Py_RETURN_NONE;
        }
    }
    return made;
}

static PyMethodDef functions[] = {
    {"element_sizes", element_sizes, METH_O, element_sizes_doc},
    {"batch_records", batch_records, METH_VARARGS, batch_records_doc},
    {"unique_keys", unique_keys, METH_O, unique_keys_doc},
    {"key_hashes", key_hashes, METH_VARARGS, key_hashes_doc},
    {"queue_units", queue_units, METH_VARARGS, queue_units_doc},
    {"index_entries", index_entries, METH_VARARGS, index_entries_doc},
    {"header", header, METH_VARARGS, header_doc},
    {NULL, NULL, 0, NULL},
};

static int begin_module(PyObject *Py_UNUSED(module)) {
    make_crc_tables();
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, begin_module}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "mqgateway.engine.native",
    .m_doc = "What the roads of a send do for each message or field, in C.",
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit_native(void) { return PyModuleDef_Init(&definition); }
