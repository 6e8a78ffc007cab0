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
