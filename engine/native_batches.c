/* Records of Kafka's batches; see native.c. */

#include "native.h"

int take_data(const uint8_t **from, const uint8_t *end, const uint8_t **data, Py_ssize_t *size) {
    int64_t length;
    if (!take_signed(from, end, 32, &length) || length < -1 || length > end - *from)
        return 0;
    *data = *from;
    *size = (Py_ssize_t)length;
    *from += length > 0 ? length : 0;
    return 1;
}

int take_row(const uint8_t **from, const uint8_t *end, int64_t *elements, Row *row) {
    const uint8_t *at = *from, *name, *value;
    int64_t length, offset_delta, count;
    if (!take_signed(&at, end, 32, &length) || length < 1 || length > end - at)
        return 0;
    end = at + length;
    at++; /* Attributes; none are defined. */
    if (!take_signed(&at, end, 64, &row->timestamp_delta) || !take_signed(&at, end, 32, &offset_delta) ||
        !take_data(&at, end, &row->key, &row->key_size) || !take_data(&at, end, &row->value, &row->value_size) ||
        !take_signed(&at, end, 32, &count) || count < 0 || count > *elements)
        return 0;
    row->offset_delta = (int32_t)offset_delta;
    row->headers = at;
    row->header_count = (Py_ssize_t)count;
    for (int64_t header = 0; header < count; header++) {
        Py_ssize_t size;
        if (!take_data(&at, end, &name, &size) || size < 0 || !take_data(&at, end, &value, &size))
            return 0;
    }
    if (at != end)
        return 0;
    *elements -= count;
    *from = at;
    return 1;
}

/* How many headers so many records may have. */
static int64_t elements_beside(long long records) {
    return records < 0 || records > BATCH_ELEMENTS_MAX ? 0 : BATCH_ELEMENTS_MAX - records;
}

const char native_walk_records_doc[] =
    "walk_records(data, count)\n--\n\nHow many of the records are well-formed and number themselves from 0, and where they end; the\n"
    "elements that are left of a batch's limit, the least and greatest timestamp deltas, and the first record without a key.\n\n"
    "In Python: record_batches.walk.walk_records.";

PyObject *native_walk_records(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    Py_buffer data;
    long long number;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "2 arguments are wanted");
        return NULL;
    }
    if (!read_numbers(args + 1, 1, &number) || PyObject_GetBuffer(args[0], &data, PyBUF_SIMPLE) < 0)
        return NULL;
    const uint8_t *at = data.buf, *end = at + data.len;
    int64_t elements = elements_beside(number);
    int64_t least = INT64_MAX, greatest = INT64_MIN;
    Py_ssize_t index = 0, keyless = -1;
    Row row;
    for (; index < number; index++) {
        const uint8_t *begin = at;
        int64_t left = elements;
        if (!take_row(&at, end, &elements, &row) || row.offset_delta != index) {
            at = begin;
            elements = left;
            break;
        }
        if (row.timestamp_delta < least)
            least = row.timestamp_delta;
        if (row.timestamp_delta > greatest)
            greatest = row.timestamp_delta;
        if (row.key_size < 0 && keyless < 0)
            keyless = index;
    }
    Py_ssize_t place = at - (const uint8_t *)data.buf;
    PyBuffer_Release(&data);
    return Py_BuildValue("nnLLLn", index, place, (long long)elements, (long long)least, (long long)greatest, keyless);
}

static PyObject *bytes_or_none(const uint8_t *data, Py_ssize_t size) {
    if (size < 0)
        Py_RETURN_NONE;
    return PyBytes_FromStringAndSize((const char *)data, size);
}

static PyObject *headers_of(const Row *row, const uint8_t *end) {
    PyObject *headers = PyTuple_New(row->header_count);
    const uint8_t *at = row->headers, *name = at, *value = at;
    for (Py_ssize_t place = 0; headers != NULL && place < row->header_count; place++) {
        Py_ssize_t name_size = 0, value_size = 0;
        take_data(&at, end, &name, &name_size);
        take_data(&at, end, &value, &value_size);
        PyObject *text = PyUnicode_DecodeUTF8((const char *)name, name_size, "replace");
        PyObject *data = text == NULL ? NULL : bytes_or_none(value, value_size);
        PyObject *header = data == NULL ? NULL : PyTuple_Pack(2, text, data);
        Py_XDECREF(text);
        Py_XDECREF(data);
        if (header == NULL)
            Py_CLEAR(headers);
        else
            PyTuple_SET_ITEM(headers, place, header);
    }
    return headers;
}

static PyObject *parts_of(const Row *row, const uint8_t *end) {
    PyObject *parts[5] = {
        bytes_or_none(row->key, row->key_size), bytes_or_none(row->value, row->value_size), headers_of(row, end),
        PyLong_FromLongLong(row->timestamp_delta), PyLong_FromLong(row->offset_delta),
    };
    PyObject *made = PyTuple_New(5);
    int is_whole = made != NULL;
    for (int place = 0; place < 5; place++) {
        is_whole &= parts[place] != NULL;
        if (made != NULL)
            PyTuple_SET_ITEM(made, place, parts[place]);
        else
            Py_XDECREF(parts[place]);
    }
    if (!is_whole)
        Py_CLEAR(made);
    return made;
}

const char native_cut_records_doc[] =
    "cut_records(data, at, count, elements, records)\n--\n\nAdds the key, value, headers and deltas of timestamp and offset of so many records\n"
    "from `at` on to a list, up to the first that is malformed; where that is, and how many of the elements are left.\n\n"
    "In Python: record_batches.records.read_records.";

PyObject *native_cut_records(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    Py_buffer data;
    long long numbers[3];
    if (count != 5 || !PyList_CheckExact(args[4])) {
        PyErr_SetString(PyExc_TypeError, "5 arguments are wanted, the last one a list");
        return NULL;
    }
    if (!read_numbers(args + 1, 3, numbers) || PyObject_GetBuffer(args[0], &data, PyBUF_SIMPLE) < 0)
        return NULL;
    Py_ssize_t place = 0;
    int64_t elements = numbers[2];
    if (numbers[0] < 0 || numbers[0] > data.len)
        PyErr_SetString(PyExc_ValueError, "a place that cannot be");
    else {
        const uint8_t *at = (const uint8_t *)data.buf + numbers[0], *end = (const uint8_t *)data.buf + data.len;
        Row row;
        for (long long index = 0; index < numbers[1] && take_row(&at, end, &elements, &row); index++) {
            PyObject *parts = parts_of(&row, end);
            int failed = parts == NULL || PyList_Append(args[4], parts) < 0;
            Py_XDECREF(parts);
            if (failed)
                break;
        }
        place = at - (const uint8_t *)data.buf;
    }
    PyBuffer_Release(&data);
    return PyErr_Occurred() ? NULL : Py_BuildValue("nL", place, (long long)elements);
}

/* Further places in the header of a batch, see record_batches.batches.Batch. */
enum {
    LAST_DELTA_AT = 23, BASE_TIME_AT = 27, MAX_TIME_AT = 35, PRODUCER_AT = 43, PRODUCER_EPOCH_AT = 51, SEQUENCE_AT = 53,
    COUNT_AT = 57,
};

/* Whether so many bytes are one batch whose header is that of an ordinary one; its checksum is not computed. */
static int has_ordinary_header(const uint8_t *batch, Py_ssize_t size) {
    if (size < BATCH_HEADER_SIZE || get8(batch) != 0 || (int64_t)(int32_t)get4(batch + BATCH_LENGTH_AT) + 12 != size ||
        batch[BATCH_MAGIC_AT] != BATCH_MAGIC || batch[BATCH_CRC_START] != 0 || batch[BATCH_CRC_START + 1] != 0)
        return 0;
    int32_t count = (int32_t)get4(batch + COUNT_AT), last = (int32_t)get4(batch + LAST_DELTA_AT);
    if (count <= 0 || count > BATCH_ELEMENTS_MAX || last != count - 1)
        return 0;
    return get8(batch + PRODUCER_AT) < 0 || (batch[PRODUCER_EPOCH_AT] < 0x80 && batch[SEQUENCE_AT] < 0x80);
}

/* Of records that were checked. */
typedef struct {
    int64_t least, greatest;
    int32_t keyless;
} Checked;

/* Whether these are so many records with offset deltas 0, 1, 2 ... and nothing else. */
static int check_records(const uint8_t *at, const uint8_t *end, int32_t count, Checked *checked) {
    int64_t elements = elements_beside(count);
    Row row;
    *checked = (Checked){INT64_MAX, INT64_MIN, -1};
    for (int32_t index = 0; index < count; index++) {
        if (!take_row(&at, end, &elements, &row) || row.offset_delta != index)
            return 0;
        if (row.timestamp_delta < checked->least)
            checked->least = row.timestamp_delta;
        if (row.timestamp_delta > checked->greatest)
            checked->greatest = row.timestamp_delta;
        if (row.key_size < 0 && checked->keyless < 0)
            checked->keyless = index;
    }
    return at == end;
}

const char native_ordinary_batch_doc[] =
    "ordinary_batch(data, begin, end)\n--\n\nCount, base and greatest timestamp, least and greatest timestamp delta, first record without a\n"
    "key (-1: none) and producer id of the batch between two places; None where it is not an ordinary one.\n\n"
    "In Python: record_batches.ordinary.ordinary_batch.";

PyObject *native_ordinary_batch(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    Py_buffer data;
    long long places[2];
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "3 arguments are wanted");
        return NULL;
    }
    if (!read_numbers(args + 1, 2, places) || PyObject_GetBuffer(args[0], &data, PyBUF_SIMPLE) < 0)
        return NULL;
    PyObject *found = NULL;
    if (places[0] < 0 || places[0] > places[1] || places[1] > data.len)
        PyErr_SetString(PyExc_ValueError, "a place that cannot be");
    else {
        const uint8_t *batch = (const uint8_t *)data.buf + places[0];
        Py_ssize_t size = (Py_ssize_t)(places[1] - places[0]);
        Checked checked;
        if (has_ordinary_header(batch, size) &&
            crc32c_of(batch + BATCH_CRC_START, size - BATCH_CRC_START) == get4(batch + BATCH_CRC_AT) &&
            check_records(batch + BATCH_HEADER_SIZE, batch + size, (int32_t)get4(batch + COUNT_AT), &checked))
            found = Py_BuildValue("iLLLLiL", (int)get4(batch + COUNT_AT), (long long)get8(batch + BASE_TIME_AT),
                                  (long long)get8(batch + MAX_TIME_AT), (long long)checked.least,
                                  (long long)checked.greatest, (int)checked.keyless, (long long)get8(batch + PRODUCER_AT));
        else
            found = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&data);
    return found;
}

/* Where a Produce request of one batch has that batch. */
typedef struct {
    const uint8_t *records, *end;
} Produced;

static int take_one(const uint8_t **from, const uint8_t *end, uint8_t value) {
    if (*from >= end || **from != value)
        return 0;
    (*from)++;
    return 1;
}

static int skip(const uint8_t **from, const uint8_t *end, int64_t size) {
    if (size < 0 || size > end - *from)
        return 0;
    *from += size;
    return 1;
}

/* Skips a header that names a client or none, and has no tagged fields. */
static int skip_header(const uint8_t **from, const uint8_t *end) {
    const uint8_t *name = *from + 8;
    if (end - *from < 11)
        return 0;
    int16_t length = (int16_t)(name[0] << 8 | name[1]);
    *from = name + 2;
    return length >= -1 && skip(from, end, length < 0 ? 0 : length) && take_one(from, end, 0);
}

/* Skips the name of a topic, or its id. */
static int skip_topic(const uint8_t **from, const uint8_t *end, int version) {
    uint64_t length;
    if (version >= PRODUCE_TOPIC_ID_SINCE)
        return skip(from, end, PRODUCE_UUID_SIZE);
    return take_varint(from, end, 32, &length) && length > 0 && skip(from, end, (int64_t)length - 1);
}

static int find_produced(const uint8_t *frame, Py_ssize_t size, Produced *produced) {
    const uint8_t *at = frame, *end = frame + size;
    uint64_t length;
    int version = size < 4 || frame[2] != 0 ? 0 : frame[3];
    if (version < PRODUCE_FLEXIBLE_SINCE || frame[0] != 0 || frame[1] != 0 || !skip_header(&at, end) ||
        !take_one(&at, end, 0) || !skip(&at, end, 6) || !take_one(&at, end, 2) || !skip_topic(&at, end, version) ||
        !take_one(&at, end, 2) || !skip(&at, end, 4))
        return 0;
    produced->records = at;
    if (!take_varint(&at, end, 32, &length) || length < 1 || (int64_t)length - 1 != end - at - 3)
        return 0;
    produced->end = end - 3;
    return end[-3] == 0 && end[-2] == 0 && end[-1] == 0;
}

const char native_single_batch_doc[] =
    "single_batch(frame)\n--\n\nWhat precedes the batch of a Produce request that has one, without the correlation id; that id, and\n"
    "where the batch begins and ends. None where the request has none or several, or anything else that most have not.\n\n"
    "In Python: kafka.codec.single_batch.read_single_batch.";

PyObject *native_single_batch(PyObject *Py_UNUSED(module), PyObject *given) {
    Produced produced;
    if (!PyBytes_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "bytes are wanted");
        return NULL;
    }
    const uint8_t *frame = (const uint8_t *)PyBytes_AS_STRING(given), *at;
    Py_ssize_t size = PyBytes_GET_SIZE(given);
    uint64_t length;
    if (!find_produced(frame, size, &produced))
        Py_RETURN_NONE;
    Py_ssize_t rest = produced.records - frame - 8;
    PyObject *key = PyBytes_FromStringAndSize(NULL, 4 + rest);
    if (key == NULL)
        return NULL;
    memcpy(PyBytes_AS_STRING(key), frame, 4);
    memcpy(PyBytes_AS_STRING(key) + 4, frame + 8, (size_t)rest);
    at = produced.records;
    take_varint(&at, produced.end, 32, &length);
    return Py_BuildValue("Ninn", key, (int)get4(frame + 4), (Py_ssize_t)(at - frame), (Py_ssize_t)(produced.end - frame));
}
