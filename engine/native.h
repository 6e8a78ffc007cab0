/* What the functions in C share; see native.c. */

#ifndef MQGATEWAY_NATIVE_H
#define MQGATEWAY_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>
#include "native_constants.h"

static inline uint32_t get4(const uint8_t *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline int64_t get8(const uint8_t *at) { return (int64_t)((uint64_t)get4(at) << 32 | get4(at + 4)); }

static inline void put4(uint8_t *at, uint32_t value) {
    at[0] = (uint8_t)(value >> 24);
    at[1] = (uint8_t)(value >> 16);
    at[2] = (uint8_t)(value >> 8);
    at[3] = (uint8_t)value;
}

static inline void put8(uint8_t *at, uint64_t value) {
    put4(at, (uint32_t)(value >> 32));
    put4(at + 4, (uint32_t)value);
}

/* Java's hash of a text that begins with one whose hash is `value` and ends with these characters. */
static inline uint32_t hash_behind(uint32_t value, const uint8_t *text, Py_ssize_t length) {
    for (Py_ssize_t at = 0; at < length; at++)
        value = value * 31 + text[at];
    return value;
}

/* As the index has it; of the one number that has no positive counterpart, 0. */
static inline uint32_t positive_hash(uint32_t value) {
    return value == 0x80000000u ? 0 : value > 0x80000000u ? 0u - value : value;
}

uint32_t crc32_of(const uint8_t *data, Py_ssize_t size);
uint32_t crc32c_of(const uint8_t *data, Py_ssize_t size);

/* Reads an unsigned varint of so many bits at most; zero where none is whole. */
static inline int take_varint(const uint8_t **from, const uint8_t *end, int bits, uint64_t *value) {
    uint64_t sum = 0;
    const uint8_t *at = *from;
    for (int shift = 0; shift < bits && at < end; shift += 7) {
        uint64_t part = *at & 0x7F;
        if (shift + 7 > bits && part >> (bits - shift))
            return 0;
        sum |= part << shift;
        if (*at++ < 0x80) {
            *from = at;
            *value = sum;
            return 1;
        }
    }
    return 0;
}

static inline uint8_t *put_varint(uint8_t *to, uint64_t value) {
    for (; value > 0x7F; value >>= 7)
        *to++ = (uint8_t)(value | 0x80);
    *to++ = (uint8_t)value;
    return to;
}

static inline int take_signed(const uint8_t **from, const uint8_t *end, int bits, int64_t *value) {
    uint64_t folded;
    if (!take_varint(from, end, bits, &folded))
        return 0;
    *value = (int64_t)(folded >> 1 ^ (0 - (folded & 1)));
    return 1;
}

/* A record of Kafka, whose bytes stay where they are; a size of -1 is null. */
typedef struct {
    const uint8_t *key, *value, *headers;
    int64_t timestamp_delta;
    Py_ssize_t key_size, value_size, header_count;
    int32_t offset_delta;
} Row;

/* Reads bytes behind their size; -1 is the size of null. */
int take_data(const uint8_t **from, const uint8_t *end, const uint8_t **data, Py_ssize_t *size);

/* Reads the record at `*from`; zero where it is malformed, or has more headers than `*elements` allow. */
int take_row(const uint8_t **from, const uint8_t *end, int64_t *elements, Row *row);

/* Properties of messages that are keys or headers of records. */

#define NAMES_MAX 16 /* headers of a record; the form in Python takes one that has more */

typedef struct {
    const uint8_t *at;
    Py_ssize_t size;
} Text;

int is_same(Text text, const char *other);

/* Whether one of so many names is this one. */
int has_name(const Text *names, Py_ssize_t count, Text name);

/* Whether it is a name of ASCII characters that a property can have. */
int is_ascii_name(Text name);

/* Whether a property of such a name is a header; zero for any other name. */
int is_header(Text name);

/* Whether it is UTF-8 that a property can have as its value. */
int is_text(Text text);

/* A record whose fixed fields and topic are as most have them: of version 1. Sizes are in bytes. */
typedef struct {
    const uint8_t *head, *body, *topic, *text;
    Py_ssize_t size, body_size, topic_size, text_size;
} Plain;

/* Whether one begins at `at` that has none of these bits in its system flag, and ends within the rest. Hosts of IPv6 have to be
among the bits. */
int read_plain(const uint8_t *at, Py_ssize_t rest, uint32_t bits, Plain *plain);

/* Reads so many numbers; zero with an exception where one is none of 64 bits. */
int read_numbers(PyObject *const *given, int count, long long *numbers);

/* Takes the arguments of a function that has bytes, a place in them and another number; zero with an exception where they are none.
The bytes have to be released. */
int take_place(PyObject *const *args, Py_ssize_t count, Py_buffer *data, long long numbers[2]);

/* Arguments that are given by name only, so that a wrong order cannot go unseen. The lists below are written once for each
function; AS_PLACE and AS_NAME make the numbers of the arguments and their names of it. */

#define AS_PLACE(place, name) place,
#define AS_NAME(place, name) name,
#define NAMED_MAX 20

typedef struct {
    int count;
    const char *texts[NAMED_MAX];
    PyObject *names[NAMED_MAX]; /* of the texts, made by the first call */
} Named;

/* Puts the arguments at the places of their names; zero with an exception where one is missing, unknown or has no name. */
int take_named(PyObject *const *args, Py_ssize_t unnamed, PyObject *names, Named *named, PyObject **taken);

/* Texts of ASCII characters. Where one is anything else, the form in Python is asked. */

static inline PyObject *ascii_text(const uint8_t *text, Py_ssize_t length) {
    PyObject *made = PyUnicode_New(length, 127);
    if (made != NULL)
        memcpy(PyUnicode_1BYTE_DATA(made), text, (size_t)length);
    return made;
}

static inline int is_ascii(PyObject *text) { return PyUnicode_CheckExact(text) && PyUnicode_IS_COMPACT_ASCII(text); }

static inline uint8_t *put_text(uint8_t *to, PyObject *text) {
    memcpy(to, PyUnicode_1BYTE_DATA(text), (size_t)PyUnicode_GET_LENGTH(text));
    return to + PyUnicode_GET_LENGTH(text);
}

/* The bytes of the text of properties; -1 where it is none of ASCII characters. */
static inline Py_ssize_t properties_size(PyObject *properties) {
    Py_ssize_t place = 0, size = 0;
    PyObject *name, *value;
    if (!PyDict_CheckExact(properties))
        return -1;
    while (PyDict_Next(properties, &place, &name, &value)) {
        if (!is_ascii(name) || !is_ascii(value))
            return -1;
        size += PyUnicode_GET_LENGTH(name) + PyUnicode_GET_LENGTH(value) + 2;
    }
    return size;
}

static inline uint8_t *put_properties(uint8_t *to, PyObject *properties) {
    Py_ssize_t place = 0;
    PyObject *name, *value;
    while (PyDict_Next(properties, &place, &name, &value)) {
        to = put_text(to, name);
        *to++ = NAME_VALUE_SEPARATOR_BYTE;
        to = put_text(to, value);
        *to++ = PROPERTY_SEPARATOR_BYTE;
    }
    return to;
}

/* The functions, and what Python's help says of them. */

PyObject *native_crc32(PyObject *module, PyObject *data);
PyObject *native_crc32c(PyObject *module, PyObject *data);
PyObject *native_inflate_block(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *native_inflate_frames(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *native_deflate_block(PyObject *module, PyObject *data);
PyObject *native_walk_records(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *native_cut_records(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *native_ordinary_batch(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *native_single_batch(PyObject *module, PyObject *frame);
PyObject *native_record_starts(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *native_expand_records(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *native_add_messages(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *native_run_of(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *native_record_rows(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *native_element_sizes(PyObject *module, PyObject *args);
PyObject *native_batch_records(PyObject *module, PyObject *args);
PyObject *native_batch_from(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *native_plain_messages(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *native_unique_keys(PyObject *module, PyObject *args);
PyObject *native_key_hashes(PyObject *module, PyObject *args);
PyObject *native_key_hash(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *native_queue_units(PyObject *module, PyObject *args);
PyObject *native_index_entries(PyObject *module, PyObject *args);
PyObject *native_message_ids(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *native_slices(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *native_gather(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *native_property_values(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *native_take_known(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *native_choose(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *native_record(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *native_header(PyObject *module, PyObject *args);
PyObject *native_properties(PyObject *module, PyObject *args);
PyObject *native_properties_text(PyObject *module, PyObject *args);
PyObject *native_json_header(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *native_json_texts(PyObject *module, PyObject *text);
PyObject *native_json_typed(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *native_json_answer(PyObject *module, PyObject *const *args, Py_ssize_t count);

extern const char native_crc32_doc[];
extern const char native_crc32c_doc[];
extern const char native_inflate_block_doc[];
extern const char native_inflate_frames_doc[];
extern const char native_deflate_block_doc[];
extern const char native_walk_records_doc[];
extern const char native_cut_records_doc[];
extern const char native_ordinary_batch_doc[];
extern const char native_single_batch_doc[];
extern const char native_record_starts_doc[];
extern const char native_expand_records_doc[];
extern const char native_add_messages_doc[];
extern const char native_run_of_doc[];
extern const char native_record_rows_doc[];
extern const char native_element_sizes_doc[];
extern const char native_batch_records_doc[];
extern const char native_batch_from_doc[];
extern const char native_plain_messages_doc[];
extern const char native_unique_keys_doc[];
extern const char native_key_hashes_doc[];
extern const char native_key_hash_doc[];
extern const char native_queue_units_doc[];
extern const char native_index_entries_doc[];
extern const char native_message_ids_doc[];
extern const char native_slices_doc[];
extern const char native_gather_doc[];
extern const char native_property_values_doc[];
extern const char native_take_known_doc[];
extern const char native_choose_doc[];
extern const char native_record_doc[];
extern const char native_header_doc[];
extern const char native_properties_doc[];
extern const char native_properties_text_doc[];
extern const char native_json_header_doc[];
extern const char native_json_texts_doc[];
extern const char native_json_typed_doc[];
extern const char native_json_answer_doc[];

void native_prepare_crc(void);

#endif
