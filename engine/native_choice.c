/* What a reader does that chooses by properties: finding their values in records, and what is known of these; see native.c. */

#include "native.h"

/* Where the text of a record's properties begins; -1 where the record is too short to be one. */
static int64_t properties_start(const uint8_t *record, Py_ssize_t length) {
    if (length < RECORD_HEAD_SIZE)
        return -1;
    uint32_t flags = get4(record + 36);
    int64_t head = RECORD_HEAD_SIZE + (flags & SYS_BORN_HOST_V6 ? 12 : 0) + (flags & SYS_STORE_HOST_V6 ? 12 : 0);
    if (length < head)
        return -1;
    int64_t topic = head + (int32_t)get4(record + head - 4);
    if (topic < head || topic + 2 > length)
        return -1;
    int is_long = get4(record + 4) == RECORD_MAGIC_V2;
    int64_t start = topic + (is_long ? 2 + (record[topic] << 8 | record[topic + 1]) : 1 + record[topic]) + 2;
    return start > length ? -1 : start;
}

/* The last place of these bytes in others; NULL for none. */
static const uint8_t *last_place(const uint8_t *in, const uint8_t *end, const uint8_t *of, Py_ssize_t length) {
    for (const uint8_t *at = end - length; at >= in && length > 0; at--)
        if (*at == *of && memcmp(at, of, (size_t)length) == 0)
            return at;
    return NULL;
}

/* The values of properties in a record, of which `marks` are the names with what separates them from values, each None where
there is none; None where it is not plain to see, NULL with an exception where a mark is not bytes. */
static PyObject *values_in(const uint8_t *record, Py_ssize_t size, PyObject *marks) {
    const uint8_t *end = record + size;
    int64_t start = properties_start(record, size);
    if (start < 0)
        Py_RETURN_NONE;
    Py_ssize_t count = PyTuple_GET_SIZE(marks);
    PyObject *values = PyTuple_New(count);
    for (Py_ssize_t number = 0; values != NULL && number < count; number++) {
        PyObject *mark = PyTuple_GET_ITEM(marks, number), *value;
        if (!PyBytes_Check(mark)) {
            PyErr_SetString(PyExc_TypeError, "a name is bytes");
            Py_CLEAR(values);
            break;
        }
        Py_ssize_t length = PyBytes_GET_SIZE(mark);
        const uint8_t *at = last_place(record + start, end, (const uint8_t *)PyBytes_AS_STRING(mark), length);
        if (at == NULL)
            value = Py_NewRef(Py_None);
        else {
            const uint8_t *begin = at + length, *stop = memchr(begin, PROPERTY_SEPARATOR_BYTE, (size_t)(end - begin));
            if (stop == NULL)
                stop = end;
            if (stop == begin || (at != record + start && at[-1] != PROPERTY_SEPARATOR_BYTE)) {
                Py_DECREF(values);
                Py_RETURN_NONE;
            }
            value = PyBytes_FromStringAndSize((const char *)begin, stop - begin);
        }
        if (value == NULL)
            Py_CLEAR(values);
        else
            PyTuple_SET_ITEM(values, number, value);
    }
    return values;
}

const char native_property_values_doc[] = "property_values(record, marks)\n--\n\n"
"The values of properties, as bytes, in a record, each None where there is none; `marks` are the names with what separates\n"
"them from values. None where it is not plain to see.\n\n"
"In Python: PropertyChoice.takes.";

PyObject *native_property_values(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given) {
    if (given != 2 || !PyBytes_Check(args[0]) || !PyTuple_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "a record in bytes, and a tuple of names");
        return NULL;
    }
    return values_in((const uint8_t *)PyBytes_AS_STRING(args[0]), PyBytes_GET_SIZE(args[0]), args[1]);
}

/* What is known of values: whether they are wanted, -1 where nothing is, -2 with an exception. */
static int decision(PyObject *values, PyObject *known) {
    if (values == NULL)
        return -2;
    if (values == Py_None)
        return -1;
    PyObject *answer = PyDict_GetItemWithError(known, values);
    if (answer == NULL)
        return PyErr_Occurred() ? -2 : -1;
    return answer == Py_True;
}

const char native_take_known_doc[] = "take_known(*, buffer, begin, end, units, first, number, marks, known, records, offsets, total,\n"
"    limits)\n--\n\n"
"Adds to `records` and `offsets` what is wanted of the messages of units from the `first` one on, whose queue offset is\n"
"`number`, and whose records lie in [begin, end) of a log, which is the buffer: up to one of which nothing is known, or that\n"
"lies elsewhere, or with which the answer has too much. How many were looked at, the bytes of the answer, where its last record\n"
"lies (-1 for none), and whether it is full; None of what is not memory.\n\n"
"In Python: Reader._get_accepted.";

/* As `Limits` of property_choice.py has them. */
enum { DUE_PLACE, DUE_NUMBER, LARGEST, FRESH_FROM, FRESH_COUNT, FRESH_BYTES, OLD_COUNT, OLD_BYTES, LIMITS };
#define TAKING(ARGUMENT) \
    ARGUMENT(BUFFER, "buffer") ARGUMENT(BEGIN, "begin") ARGUMENT(END, "end") ARGUMENT(UNITS, "units") \
    ARGUMENT(FIRST, "first") ARGUMENT(NUMBER, "number") ARGUMENT(MARKS, "marks") ARGUMENT(KNOWN, "known") \
    ARGUMENT(RECORDS, "records") ARGUMENT(OFFSETS, "offsets") ARGUMENT(TOTAL, "total") ARGUMENT(LIMIT, "limits")

enum { TAKING(AS_PLACE) GIVEN };
static Named taking = {GIVEN, {TAKING(AS_NAME)}, {NULL}};

PyObject *native_take_known(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t unnamed, PyObject *names) {
    PyObject *args[GIVEN];
    long long number_of[GIVEN] = {0}, limits[LIMITS];
    if (!take_named(given, unnamed, names, &taking, args))
        return NULL;
    if (!PyTuple_Check(args[MARKS]) || !PyDict_CheckExact(args[KNOWN]) || !PyList_CheckExact(args[RECORDS]) ||
        !PyList_CheckExact(args[OFFSETS]) || !PyTuple_Check(args[LIMIT]) || PyTuple_GET_SIZE(args[LIMIT]) != LIMITS) {
        PyErr_SetString(PyExc_TypeError, "a buffer, units, names, what is known, two lists and limits are wanted");
        return NULL;
    }
    if (!read_numbers(args + BEGIN, 2, number_of + BEGIN) || !read_numbers(args + FIRST, 2, number_of + FIRST) ||
        !read_numbers(args + TOTAL, 1, number_of + TOTAL) ||
        !read_numbers(&PyTuple_GET_ITEM(args[LIMIT], 0), LIMITS, limits))
        return NULL;
    if (!PyObject_CheckBuffer(args[BUFFER]))
        Py_RETURN_NONE;
    Py_buffer buffer, units;
    if (PyObject_GetBuffer(args[BUFFER], &buffer, PyBUF_SIMPLE) < 0)
        return NULL;
    if (PyObject_GetBuffer(args[UNITS], &units, PyBUF_SIMPLE) < 0) {
        PyBuffer_Release(&buffer);
        return NULL;
    }
    long long begin = number_of[BEGIN], first = number_of[FIRST], number = number_of[NUMBER], total = number_of[TOTAL];
    long long end = Py_MIN(number_of[END], begin + (long long)buffer.len), looked = 0, last = -1;
    Py_ssize_t count = PyList_GET_SIZE(args[RECORDS]);
    int is_full = 0, is_wanted = first < 0 ? -1 : 0;
    for (; is_wanted >= 0 && first + looked < units.len / QUEUE_UNIT_SIZE; looked++, number++) {
        const uint8_t *unit = (const uint8_t *)units.buf + (first + looked) * QUEUE_UNIT_SIZE;
        long long place = get8(unit), size = (int32_t)get4(unit + 8);
        if (size <= 0 || size > limits[LARGEST] || place < begin || place > end - size || place < limits[DUE_PLACE] ||
            number < limits[DUE_NUMBER])
            break;
        int is_fresh = place >= limits[FRESH_FROM];
        is_full = count > 0 && (count >= limits[is_fresh ? FRESH_COUNT : OLD_COUNT] ||
                                total + size > limits[is_fresh ? FRESH_BYTES : OLD_BYTES]);
        if (is_full)
            break;
        const uint8_t *record = (const uint8_t *)buffer.buf + (place - begin);
        PyObject *values = values_in(record, (Py_ssize_t)size, args[MARKS]);
        is_wanted = decision(values, args[KNOWN]);
        Py_XDECREF(values);
        if (is_wanted < 0)
            break;
        if (!is_wanted)
            continue;
        PyObject *bytes = PyBytes_FromStringAndSize((const char *)record, (Py_ssize_t)size), *offset = PyLong_FromLongLong(number);
        if (bytes == NULL || offset == NULL || PyList_Append(args[RECORDS], bytes) < 0 || PyList_Append(args[OFFSETS], offset) < 0)
            is_wanted = -2;
        Py_XDECREF(bytes);
        Py_XDECREF(offset);
        total += size;
        last = place;
        count++;
    }
    PyBuffer_Release(&units);
    PyBuffer_Release(&buffer);
    return is_wanted == -2 ? NULL : Py_BuildValue("LLLO", looked, total, last, is_full ? Py_True : Py_False);
}
