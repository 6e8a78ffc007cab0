/* What a pull does: choosing records by their queue units, and reading them; see native.c. */

#include "native.h"

#define CODES_MAX 8

/* The tags codes wanted, as numbers: how many, 0 for all, -1 where there are too many or one is none. */
static int wanted_codes(PyObject *given, int64_t codes[CODES_MAX]) {
    if (given == Py_None)
        return 0;
    if (!PyFrozenSet_CheckExact(given) || PySet_GET_SIZE(given) < 1 || PySet_GET_SIZE(given) > CODES_MAX)
        return -1;
    PyObject *walk = PyObject_GetIter(given), *code;
    int count = 0;
    while (walk != NULL && count >= 0 && (code = PyIter_Next(walk)) != NULL) {
        int overflow = 1;
        codes[count++] = PyLong_Check(code) ? PyLong_AsLongLongAndOverflow(code, &overflow) : 0;
        if (overflow)
            count = -1;
        Py_DECREF(code);
    }
    Py_XDECREF(walk);
    return PyErr_Occurred() ? -1 : count;
}

const char native_choose_doc[] = "choose(*, units, offset, codes, oldest, largest, fresh_from, fresh_count, fresh_bytes, old_count,\n"
"    old_bytes, address_max)\n--\n\n"
"Queue offset, place and size of the records of an answer, the offset to read next, and whether some were gone; None where\n"
"a message has to be looked at, or there are more than a few codes.\n\n"
"In Python: Reader._choose.";

#define CHOICE(ARGUMENT) \
    ARGUMENT(UNITS, "units") ARGUMENT(OFFSET, "offset") ARGUMENT(CODES, "codes") ARGUMENT(OLDEST, "oldest") \
    ARGUMENT(LARGEST, "largest") ARGUMENT(FRESH_FROM, "fresh_from") ARGUMENT(FRESH_COUNT, "fresh_count") \
    ARGUMENT(FRESH_BYTES, "fresh_bytes") ARGUMENT(OLD_COUNT, "old_count") ARGUMENT(OLD_BYTES, "old_bytes") \
    ARGUMENT(ADDRESS_MOST, "address_max")

enum { CHOICE(AS_PLACE) GIVEN };
static Named choice = {GIVEN, {CHOICE(AS_NAME)}, {NULL}};

PyObject *native_choose(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t unnamed, PyObject *names) {
    PyObject *args[GIVEN];
    long long limits[GIVEN];
    int64_t codes[CODES_MAX];
    Py_buffer units;
    if (!take_named(given, unnamed, names, &choice, args))
        return NULL;
    if (!read_numbers(args + OFFSET, 1, limits + OFFSET) || !read_numbers(args + OLDEST, GIVEN - OLDEST, limits + OLDEST))
        return NULL;
    int code_count = wanted_codes(args[CODES], codes);
    if (code_count < 0 && PyErr_Occurred())
        return NULL;
    if (PyObject_GetBuffer(args[UNITS], &units, PyBUF_SIMPLE) < 0)
        return NULL;
    int is_known = code_count >= 0 && units.len % QUEUE_UNIT_SIZE == 0, removed = 0;
    long long count = 0, total = 0, offset = limits[OFFSET];
    PyObject *places = PyList_New(0);
    const uint8_t *unit = units.buf, *end = unit + units.len;
    for (; places != NULL && is_known && unit < end; unit += QUEUE_UNIT_SIZE, offset++) {
        int64_t place = get8(unit), size = (int32_t)get4(unit + 8), code = get8(unit + 12);
        int is_fresh = place >= limits[FRESH_FROM];
        if (count > 0 && (count >= limits[is_fresh ? FRESH_COUNT : OLD_COUNT] ||
                          total + size > limits[is_fresh ? FRESH_BYTES : OLD_BYTES]))
            break;
        if (place < limits[OLDEST] || size <= 0 || size > limits[LARGEST]) {
            removed = 1;
            continue;
        }
        int is_wanted = code_count == 0;
        for (int number = 0; number < code_count && !is_wanted; number++)
            is_wanted = codes[number] == code;
        if (!is_wanted && code <= limits[ADDRESS_MOST])
            is_known = 0;
        if (!is_wanted)
            continue;
        PyObject *found = Py_BuildValue("(LLL)", offset, (long long)place, (long long)size);
        if (found == NULL || PyList_Append(places, found) < 0)
            Py_CLEAR(places);
        Py_XDECREF(found);
        total += size;
        count++;
    }
    PyBuffer_Release(&units);
    if (places != NULL && !is_known)
        Py_SETREF(places, Py_NewRef(Py_None));
    return places == NULL || places == Py_None ? places : Py_BuildValue("NLO", places, offset, removed ? Py_True : Py_False);
}

int read_plain(const uint8_t *at, Py_ssize_t rest, uint32_t bits, Plain *plain) {
    if (rest <= RECORD_HEAD_SIZE)
        return 0;
    int64_t size = (int32_t)get4(at), body_size = (int32_t)get4(at + 84), topic_at = RECORD_HEAD_SIZE + body_size;
    if (body_size < 0 || topic_at >= size || size > rest || get4(at + 4) != RECORD_MAGIC || get4(at + 36) & bits)
        return 0;
    int64_t topic_size = at[topic_at], place = topic_at + 1 + topic_size;
    if (topic_size > RECORD_TOPIC_LENGTH_MAX_V1 || place + 1 >= size || at[place] > 127)
        return 0;
    int64_t text_size = at[place] << 8 | at[place + 1];
    *plain = (Plain){at, at + RECORD_HEAD_SIZE, at + topic_at + 1, at + place + 2, size, body_size, topic_size, text_size};
    return place + 2 + text_size == size;
}

int read_numbers(PyObject *const *given, int count, long long *numbers) {
    for (int at = 0; at < count; at++)
        if ((numbers[at] = PyLong_AsLongLong(given[at])) == -1 && PyErr_Occurred())
            return 0;
    return 1;
}

int take_place(PyObject *const *args, Py_ssize_t count, Py_buffer *data, long long numbers[2]) {
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "3 arguments are wanted");
        return 0;
    }
    if (!read_numbers(args + 1, 2, numbers) || PyObject_GetBuffer(args[0], data, PyBUF_SIMPLE) < 0)
        return 0;
    if (numbers[0] >= 0 && numbers[0] <= data->len)
        return 1;
    PyBuffer_Release(data);
    PyErr_SetString(PyExc_ValueError, "a place that cannot be");
    return 0;
}

/* Where a place of (anything, offset, size) lies; zero where it is none, with an exception. */
static int place_of(PyObject *place, long long *offset, long long *size) {
    if (!PyTuple_Check(place) || PyTuple_GET_SIZE(place) != 3 || !PyLong_Check(PyTuple_GET_ITEM(place, 1)) ||
        !PyLong_Check(PyTuple_GET_ITEM(place, 2))) {
        PyErr_SetString(PyExc_ValueError, "a place is a tuple of three numbers");
        return 0;
    }
    *offset = PyLong_AsLongLong(PyTuple_GET_ITEM(place, 1));
    *size = PyLong_AsLongLong(PyTuple_GET_ITEM(place, 2));
    return !PyErr_Occurred();
}

const char native_slices_doc[] = "slices(buffer, begin, places)\n--\n\n"
"The bytes of each (anything, offset, size), of a buffer whose first byte lies at offset `begin`; None of what is not\n"
"memory.\n\n"
"In Python: LogOnFiles.read_each.";

PyObject *native_slices(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given) {
    Py_buffer buffer;
    if (given != 3 || !PyLong_Check(args[1]) || !PySequence_Check(args[2])) {
        PyErr_SetString(PyExc_TypeError, "a buffer, where it begins, and places");
        return NULL;
    }
    if (!PyObject_CheckBuffer(args[0]))
        Py_RETURN_NONE;
    long long begin = PyLong_AsLongLong(args[1]);
    PyObject *places = begin == -1 && PyErr_Occurred() ? NULL : PySequence_Fast(args[2], "places are a sequence");
    if (places == NULL || PyObject_GetBuffer(args[0], &buffer, PyBUF_SIMPLE) < 0) {
        Py_XDECREF(places);
        return NULL;
    }
    Py_ssize_t count = PySequence_Fast_GET_SIZE(places);
    PyObject *slices = PyList_New(count);
    for (Py_ssize_t number = 0; slices != NULL && number < count; number++) {
        long long offset, size;
        PyObject *slice = NULL;
        if (place_of(PySequence_Fast_GET_ITEM(places, number), &offset, &size)) {
            if (offset >= begin && size >= 0 && size <= buffer.len && offset - begin <= buffer.len - size)
                slice = PyBytes_FromStringAndSize((const char *)buffer.buf + (offset - begin), (Py_ssize_t)size);
            else
                PyErr_SetString(PyExc_ValueError, "a place that does not lie in the buffer");
        }
        if (slice == NULL)
            Py_CLEAR(slices);
        else
            PyList_SET_ITEM(slices, number, slice);
    }
    PyBuffer_Release(&buffer);
    Py_DECREF(places);
    return slices;
}

const char native_gather_doc[] = "gather(buffer, begin, end, places, number)\n--\n\n"
"What lies at places (anything, offset, size) from a number on back to back, and how many these are: up to one that is\n"
"not all in [begin, end), where the buffer lies; None where the buffer is not memory.\n\n"
"In Python: gather of engine.store.log_on_files.";

PyObject *native_gather(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given) {
    Py_buffer buffer;
    if (given != 5 || !PyLong_Check(args[1]) || !PyLong_Check(args[2]) || !PySequence_Check(args[3]) ||
        !PyLong_Check(args[4])) {
        PyErr_SetString(PyExc_TypeError, "a buffer, where it begins and ends, places, and the first of them");
        return NULL;
    }
    if (!PyObject_CheckBuffer(args[0]))
        Py_RETURN_NONE;
    long long begin = PyLong_AsLongLong(args[1]), end = PyLong_AsLongLong(args[2]);
    Py_ssize_t first = PyLong_AsSsize_t(args[4]);
    PyObject *places = PyErr_Occurred() ? NULL : PySequence_Fast(args[3], "places are a sequence");
    if (places == NULL || PyObject_GetBuffer(args[0], &buffer, PyBUF_SIMPLE) < 0) {
        Py_XDECREF(places);
        return NULL;
    }
    Py_ssize_t count = PySequence_Fast_GET_SIZE(places), number = first, total = 0;
    PyObject *joined = NULL, *result = NULL;
    if (begin < 0 || end < begin || end - begin > buffer.len || first < 0 || first > count) {
        PyErr_SetString(PyExc_ValueError, "more than the buffer or the places");
        goto done;
    }
    for (; number < count; number++) {
        long long offset, size;
        if (!place_of(PySequence_Fast_GET_ITEM(places, number), &offset, &size))
            goto done;
        if (offset < begin || size < 0 || offset > end || size > end - offset || total > PY_SSIZE_T_MAX - size)
            break;
        total += (Py_ssize_t)size;
    }
    joined = PyBytes_FromStringAndSize(NULL, total);
    if (joined == NULL)
        goto done;
    char *to = PyBytes_AS_STRING(joined);
    for (Py_ssize_t at = first; at < number; at++) {
        PyObject *place = PySequence_Fast_GET_ITEM(places, at);
        Py_ssize_t size = (Py_ssize_t)PyLong_AsLongLong(PyTuple_GET_ITEM(place, 2));
        memcpy(to, (const char *)buffer.buf + (PyLong_AsLongLong(PyTuple_GET_ITEM(place, 1)) - begin), (size_t)size);
        to += size;
    }
    result = Py_BuildValue("On", joined, number - first);
done:
    Py_XDECREF(joined);
    PyBuffer_Release(&buffer);
    Py_DECREF(places);
    return result;
}
