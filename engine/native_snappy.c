/* Snappy blocks; see native.c. */

#include "native.h"

/* Inflates a block behind its size into `room` bytes. Gives where it ends, or where the first element begins that is malformed
or has no room, and in `*made` how many bytes were inflated up to there. */
static Py_ssize_t inflate(const uint8_t *data, Py_ssize_t at, Py_ssize_t size, uint8_t *out, Py_ssize_t room, Py_ssize_t *made) {
    Py_ssize_t done = 0;
    while (at < size) {
        Py_ssize_t begin = at, length, offset = 0;
        uint8_t tag = data[at++];
        int kind = tag & 3, bytes = kind == 0 ? (tag >> 2) - SNAPPY_LITERAL_INLINE_MAX + 1 : kind == 3 ? 4 : kind;
        uint32_t number = 0;
        if (bytes > size - at) {
            at = begin;
            break;
        }
        for (int byte = 0; byte < bytes; byte++)
            number |= (uint32_t)data[at++] << 8 * byte;
        if (kind == 0)
            length = 1 + (bytes > 0 ? (Py_ssize_t)number : tag >> 2);
        else {
            length = kind == 1 ? (tag >> 2 & 7) + SNAPPY_MATCH_MIN : (tag >> 2) + 1;
            offset = kind == 1 ? (Py_ssize_t)((tag >> 5) << 8 | number) : (Py_ssize_t)number;
        }
        if (length > room - done || (kind == 0 ? length > size - at : offset == 0 || offset > done)) {
            at = begin;
            break;
        }
        if (kind == 0) {
            memcpy(out + done, data + at, (size_t)length);
            at += length;
        } else if (offset >= length)
            memcpy(out + done, out + done - offset, (size_t)length);
        else
            for (Py_ssize_t copied = 0; copied < length; copied++)
                out[done + copied] = out[done + copied - offset];
        done += length;
    }
    *made = done;
    return at;
}

const char native_inflate_block_doc[] =
    "inflate_block(data, at, size)\n--\n\nThe bytes of a block whose elements begin there and inflate to this size; how many come\n"
    "before the first malformed element, and where that is.\n\nIn Python: record_batches.snappy.decompress_block.";

PyObject *native_inflate_block(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    Py_buffer data;
    long long numbers[2];
    if (!take_place(args, count, &data, numbers))
        return NULL;
    PyObject *out = NULL;
    Py_ssize_t made, end;
    if (numbers[1] < 0 || numbers[1] > UINT32_MAX)
        PyErr_SetString(PyExc_ValueError, "a size that cannot be");
    else if ((out = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)numbers[1])) != NULL) {
        end = inflate(data.buf, (Py_ssize_t)numbers[0], data.len, (uint8_t *)PyBytes_AS_STRING(out), (Py_ssize_t)numbers[1], &made);
        if (end < data.len || made < numbers[1])
            Py_SETREF(out, Py_BuildValue("nn", made, end));
    }
    PyBuffer_Release(&data);
    return out;
}

/* The elements of the framed block at `at`: where they begin, and where they end in `*end`. Zero where it is malformed. */
static Py_ssize_t enter_frame(const uint8_t *data, Py_ssize_t at, Py_ssize_t size, Py_ssize_t *end, uint64_t *inflated) {
    if (size - at < 4)
        return 0;
    int64_t length = (int32_t)get4(data + at);
    if (length < 0 || length > size - at - 4)
        return 0;
    const uint8_t *place = data + at + 4;
    *end = at + 4 + (Py_ssize_t)length;
    return take_varint(&place, data + *end, 32, inflated) ? place - data : 0;
}

const char native_inflate_frames_doc[] =
    "inflate_frames(data, at, limit)\n--\n\nThe bytes of framed blocks from `at` on, and where the first one begins that is malformed or\n"
    "beyond the limit.\n\nIn Python: record_batches.snappy.decompress_snappy.";

PyObject *native_inflate_frames(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    Py_buffer data;
    long long numbers[2];
    if (!take_place(args, count, &data, numbers))
        return NULL;
    const uint8_t *bytes = data.buf;
    Py_ssize_t at = (Py_ssize_t)numbers[0], total = 0, done = 0, begin, end;
    uint64_t inflated;
    for (Py_ssize_t place = at; (begin = enter_frame(bytes, place, data.len, &end, &inflated)) != 0; place = end) {
        if ((long long)inflated > numbers[1] - total)
            break;
        total += (Py_ssize_t)inflated;
    }
    PyObject *out = PyBytes_FromStringAndSize(NULL, total);
    while (out != NULL && (begin = enter_frame(bytes, at, data.len, &end, &inflated)) != 0) {
        Py_ssize_t made;
        if ((long long)inflated > total - done)
            break;
        if (inflate(bytes, begin, end, (uint8_t *)PyBytes_AS_STRING(out) + done, (Py_ssize_t)inflated, &made) < end ||
            made < (Py_ssize_t)inflated)
            break;
        done += made;
        at = end;
    }
    PyBuffer_Release(&data);
    if (out == NULL || (done < total && _PyBytes_Resize(&out, done) < 0))
        return NULL;
    return Py_BuildValue("Nn", out, at);
}

static uint8_t *put_literal(uint8_t *to, const uint8_t *data, Py_ssize_t size) {
    if (size == 0)
        return to;
    uint32_t length = (uint32_t)size - 1;
    if (length < SNAPPY_LITERAL_INLINE_MAX)
        *to++ = (uint8_t)(length << 2);
    else {
        int bytes = length > 0xFF ? 2 : 1;
        *to++ = (uint8_t)((SNAPPY_LITERAL_INLINE_MAX + bytes - 1) << 2);
        for (int byte = 0; byte < bytes; byte++)
            *to++ = (uint8_t)(length >> 8 * byte);
    }
    memcpy(to, data, (size_t)size);
    return to + size;
}

static inline uint32_t word_at(const uint8_t *at) {
    return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

static uint8_t *deflate(uint8_t *to, const uint8_t *data, Py_ssize_t size) {
    uint16_t seen[1 << SNAPPY_HASH_BITS] = {0};
    Py_ssize_t done = 0, at = 0;
    to = put_varint(to, (uint64_t)size);
    while (at + SNAPPY_MATCH_MIN <= size) {
        uint32_t word = word_at(data + at), slot = word * (uint32_t)SNAPPY_HASH_FACTOR >> (32 - SNAPPY_HASH_BITS);
        Py_ssize_t candidate = seen[slot];
        seen[slot] = (uint16_t)at;
        if (candidate == at || word_at(data + candidate) != word) {
            at += 1 + ((at - done) >> SNAPPY_SKIP_SHIFT);
            continue;
        }
        Py_ssize_t length = SNAPPY_MATCH_MIN, limit = size - at < SNAPPY_COPY_MAX ? size - at : SNAPPY_COPY_MAX;
        while (length < limit && data[candidate + length] == data[at + length])
            length++;
        to = put_literal(to, data + done, at - done);
        *to++ = (uint8_t)((length - 1) << 2 | 2);
        *to++ = (uint8_t)(at - candidate);
        *to++ = (uint8_t)((at - candidate) >> 8);
        at += length;
        done = at;
    }
    return put_literal(to, data + done, size - done);
}

const char native_deflate_block_doc[] = "deflate_block(data)\n--\n\nA block of at most 64 KiB.\n\nIn Python: record_batches.snappy.compress_block.";

PyObject *native_deflate_block(PyObject *Py_UNUSED(module), PyObject *given) {
    Py_buffer data;
    PyObject *out = NULL;
    if (PyObject_GetBuffer(given, &data, PyBUF_SIMPLE) < 0)
        return NULL;
    if (data.len > SNAPPY_BLOCK_MAX)
        PyErr_Format(PyExc_ValueError, "a block has %d bytes at most, not %zd", SNAPPY_BLOCK_MAX, data.len);
    /* A copy replaces four bytes or more by three, and its literal has three more than its bytes at most. */
    else if ((out = PyBytes_FromStringAndSize(NULL, 8 + data.len + data.len / 2)) != NULL) {
        uint8_t *begin = (uint8_t *)PyBytes_AS_STRING(out);
        _PyBytes_Resize(&out, deflate(begin, data.buf, data.len) - begin);
    }
    PyBuffer_Release(&data);
    return out;
}
