/* Headers of commands, and properties of messages, as text; see native.c. */

#include "native.h"

/* How many digits lie here, 18 at most, and what number they say, which fits into 64 bits. */
static Py_ssize_t digits(const uint8_t *at, const uint8_t *end, int64_t *value) {
    const uint8_t *begin = at;
    for (*value = 0; at < end && *at >= '0' && *at <= '9' && at - begin < 18; at++)
        *value = *value * 10 + (*at - '0');
    return at - begin;
}

/* A number of 1 to 18 digits and nothing else that fits into so many bits, with its sign; NULL for any other. */
static PyObject *short_number(PyObject *text, long bits) {
    if (!PyUnicode_Check(text) || !PyUnicode_IS_COMPACT_ASCII(text))
        return NULL;
    const uint8_t *begin = PyUnicode_1BYTE_DATA(text);
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    int64_t value;
    if (length < 1 || digits(begin, begin + length, &value) != length || (bits == 32 && value > INT32_MAX))
        return NULL;
    return PyLong_FromLongLong(value);
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

/* A field of a header class, as `FieldPlan` of extension.py has it. */
typedef struct {
    PyObject *name, *wire_name, *texts;
    long bits;
    int is_required;
} Field;

/* Whether it is one; an exception if not. */
static int read_field(PyObject *parts, Field *field) {
    if (!PyTuple_Check(parts) || PyTuple_GET_SIZE(parts) != 5 || !PyUnicode_Check(PyTuple_GET_ITEM(parts, 1))) {
        PyErr_SetString(PyExc_TypeError, "a field has five parts");
        return 0;
    }
    field->name = PyTuple_GET_ITEM(parts, 0);
    field->wire_name = PyTuple_GET_ITEM(parts, 1);
    field->texts = PyTuple_GET_ITEM(parts, 2);
    field->bits = PyLong_AsLong(PyTuple_GET_ITEM(parts, 3));
    field->is_required = PyTuple_GET_ITEM(parts, 4) == Py_True;
    return field->bits != -1 || !PyErr_Occurred();
}

/* An object of a class, with no attributes yet. Some classes make none. */
static PyObject *made_of(PyObject *cls) {
    newfunc make = ((PyTypeObject *)cls)->tp_new;
    if (make == NULL)
        return PyErr_Format(PyExc_TypeError, "%R makes no objects", cls);
    PyObject *none = PyTuple_New(0);
    PyObject *made = none == NULL ? NULL : make((PyTypeObject *)cls, none, NULL);
    Py_XDECREF(none);
    return made;
}

/* None for a value that could not be read; NULL for any other failure. */
static PyObject *unreadable(void) {
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_ValueError) && !PyErr_ExceptionMatches(PyExc_KeyError))
        return NULL;
    PyErr_Clear();
    Py_RETURN_NONE;
}

const char native_header_doc[] = "header(cls, fields, ext)\n--\n\n"
"The header of a class whose fields are (name, wire name, texts or None, bits, whether it is required), in the text\n"
"fields of a command; None where one is missing or cannot be read.\n\n"
"In Python: the function `decode` that codec.fields makes for each class.";

PyObject *native_header(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *cls, *fields, *ext;
    if (!PyArg_ParseTuple(args, "O!O!O!", &PyType_Type, &cls, &PyTuple_Type, &fields, &PyDict_Type, &ext))
        return NULL;
    PyObject *made = made_of(cls);
    for (Py_ssize_t at = 0; made != NULL && at < PyTuple_GET_SIZE(fields); at++) {
        Field field;
        if (!read_field(PyTuple_GET_ITEM(fields, at), &field)) {
            Py_DECREF(made);
            return NULL;
        }
        PyObject *value = NULL, *text = PyDict_GetItemWithError(ext, field.wire_name);
        if (text == NULL && !PyErr_Occurred() && !field.is_required)
            continue;
        if (text == Py_None && !field.is_required)
            continue;
        if (text != NULL) {
            Py_INCREF(text);
            value = value_of(text, field.texts, field.bits);
            Py_DECREF(text);
        }
        int is_set = value != NULL && PyObject_SetAttr(made, field.name, value) == 0;
        Py_XDECREF(value);
        if (!is_set) {
            Py_DECREF(made);
            return unreadable();
        }
    }
    return made;
}

#define NAMES 512
#define NAME_LENGTH_MAX 32

static PyObject *names[NAMES]; /* of header fields and properties, which recur: the last one at each place */

/* A name; one that was seen just before is not made, and its hash not computed, again. */
static PyObject *name_of(const uint8_t *text, Py_ssize_t length) {
    if (length == 0 || length > NAME_LENGTH_MAX)
        return ascii_text(text, length);
    uint32_t hash = (uint32_t)length;
    for (Py_ssize_t at = 0; at < length; at++)
        hash = hash * 31 + text[at];
    PyObject **place = &names[(hash ^ hash >> 9) % NAMES];
    if (*place != NULL && PyUnicode_GET_LENGTH(*place) == length &&
        memcmp(PyUnicode_1BYTE_DATA(*place), text, (size_t)length) == 0)
        return Py_NewRef(*place);
    PyObject *name = ascii_text(text, length);
    if (name != NULL)
        Py_XSETREF(*place, Py_NewRef(name));
    return name;
}

/* Enter a name and a value, whose reference it takes, into a dictionary; 0 with or without an exception if not. */
static int enter(PyObject *entries, PyObject *name, PyObject *value) {
    int is_entered = name != NULL && value != NULL && PyDict_SetItem(entries, name, value) == 0;
    Py_XDECREF(name);
    Py_XDECREF(value);
    return is_entered;
}

const char native_properties_doc[] = "properties(text)\n--\n\n"
"The properties that a text says; None for one that is not of ASCII characters.\n\n"
"In Python: message.parse_properties.";

PyObject *native_properties(PyObject *Py_UNUSED(module), PyObject *text) {
    if (!is_ascii(text))
        Py_RETURN_NONE;
    const uint8_t *at = PyUnicode_1BYTE_DATA(text), *end = at + PyUnicode_GET_LENGTH(text);
    PyObject *found = PyDict_New();
    while (found != NULL && at < end) {
        const uint8_t *stop = memchr(at, PROPERTY_SEPARATOR_BYTE, (size_t)(end - at));
        if (stop == NULL)
            stop = end;
        const uint8_t *middle = memchr(at, NAME_VALUE_SEPARATOR_BYTE, (size_t)(stop - at));
        if (middle != NULL && middle > at && middle + 1 < stop &&
            !enter(found, name_of(at, middle - at), ascii_text(middle + 1, stop - middle - 1)))
            Py_CLEAR(found);
        at = stop + 1;
    }
    return found;
}

const char native_properties_text_doc[] = "properties_text(properties)\n--\n\n"
"What `properties` reads, as bytes; None where a name or a value is not of ASCII characters.\n\n"
"In Python: message.format_properties.";

PyObject *native_properties_text(PyObject *Py_UNUSED(module), PyObject *given) {
    Py_ssize_t size = properties_size(given);
    if (size < 0)
        Py_RETURN_NONE;
    PyObject *made = PyBytes_FromStringAndSize(NULL, size);
    if (made != NULL)
        put_properties((uint8_t *)PyBytes_AS_STRING(made), given);
    return made;
}

/* Headers of JSON, as the clients of Java and Go write them: no blanks, ASCII characters, numbers and texts only. */

typedef struct {
    const uint8_t *at, *end;
} Json;

static int passes(Json *json, uint8_t sign) { return json->at < json->end && *json->at == sign ? json->at++, 1 : 0; }

static int hex_digit(uint8_t digit) {
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* The character behind a backslash; -1 where there is none of ASCII. Moves on behind it. */
static int escaped(Json *json) {
    static const char signs[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    if (json->at >= json->end)
        return -1;
    uint8_t sign = *json->at++;
    if (sign != 'u') {
        const char *found = sign == 0 ? NULL : strchr(signs, sign);
        return found == NULL ? -1 : meant[found - signs];
    }
    if (json->end - json->at < 4 || json->at[0] != '0' || json->at[1] != '0')
        return -1;
    int high = hex_digit(json->at[2]), low = hex_digit(json->at[3]);
    json->at += 4;
    return high < 0 || high > 7 || low < 0 ? -1 : high << 4 | low;
}

/* The end of the plain characters of a text from here on: a quote, or what is not plain. */
static const uint8_t *plain_end(const uint8_t *at, const uint8_t *end) {
    const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    for (; end - at >= 8; at += 8) {
        uint64_t eight;
        memcpy(&eight, at, 8);
        uint64_t quotes = eight ^ ones * '"', slashes = eight ^ ones * '\\';
        if ((eight | (eight - ones * 0x20) | (quotes - ones) | (slashes - ones)) & tops)
            break; /* or so it seems: a byte that borrows may mark the one before it */
    }
    while (at < end && *at >= 0x20 && *at < 0x80 && *at != '"' && *at != '\\')
        at++;
    return at;
}

/* A text whose first quote is passed; NULL, mostly without an exception, for one that is not of ASCII characters. */
static PyObject *json_text(Json *json, int is_name) {
    const uint8_t *begin = json->at;
    json->at = plain_end(begin, json->end);
    Py_ssize_t length = json->at - begin;
    if (passes(json, '"'))
        return is_name ? name_of(begin, length) : ascii_text(begin, length);
    while (!passes(json, '"')) {
        if (passes(json, '\\')) {
            if (escaped(json) < 0)
                return NULL;
            length++;
        } else {
            const uint8_t *plain = json->at;
            json->at = plain_end(plain, json->end);
            if (json->at == plain)
                return NULL;
            length += json->at - plain;
        }
    }
    PyObject *made = PyUnicode_New(length, 127);
    if (made == NULL)
        return NULL;
    uint8_t *to = PyUnicode_1BYTE_DATA(made);
    for (Json again = {begin, json->at - 1}; again.at < again.end;) {
        const uint8_t *plain = again.at;
        again.at = plain_end(plain, again.end);
        memcpy(to, plain, (size_t)(again.at - plain));
        to += again.at - plain;
        if (passes(&again, '\\'))
            *to++ = (uint8_t)escaped(&again);
    }
    return made;
}

/* Pass over a text whose first quote is passed; 0 for one that is not of ASCII characters. */
static int json_skip(Json *json) {
    for (;;) {
        json->at = plain_end(json->at, json->end);
        if (passes(json, '"'))
            return 1;
        if (!passes(json, '\\') || escaped(json) < 0)
            return 0;
    }
}

/* A number of 32 bits; 0 for any other. */
static int json_number(Json *json, int32_t *number) {
    int is_negative = passes(json, '-');
    const uint8_t *begin = json->at;
    int64_t value;
    Py_ssize_t count = digits(begin, json->end, &value);
    if (count == 0 || (*begin == '0' && (count > 1 || is_negative)))
        return 0;
    json->at += count;
    if (is_negative)
        value = -value;
    *number = (int32_t)value;
    return value >= INT32_MIN && value <= INT32_MAX;
}

/* Read the members of an object: `member` is called behind the first quote of each name, and says whether it was as expected;
   0, mostly without an exception, where one was not. */
static int json_object(Json *json, int (*member)(Json *, void *), void *context) {
    if (!passes(json, '{'))
        return 0;
    if (passes(json, '}'))
        return 1;
    do {
        if (!passes(json, '"') || !member(json, context))
            return 0;
    } while (passes(json, ','));
    return passes(json, '}');
}

/* The same of bytes that are an object and nothing else. */
static int json_whole(PyObject *text, int (*member)(Json *, void *), void *context) {
    const uint8_t *begin = (const uint8_t *)PyBytes_AS_STRING(text);
    Json json = {begin, begin + PyBytes_GET_SIZE(text)};
    return json_object(&json, member, context) && json.at == json.end;
}

/* Pass over a member whose value is a text, and count it. */
static int skip_member(Json *json, void *count) {
    ++*(Py_ssize_t *)count;
    return json_skip(json) && passes(json, ':') && passes(json, '"') && json_skip(json);
}

static int enter_member(Json *json, void *texts) {
    PyObject *name = json_text(json, 1);
    PyObject *value = name != NULL && passes(json, ':') && passes(json, '"') ? json_text(json, 0) : NULL;
    return enter(texts, name, value);
}

const char native_json_texts_doc[] = "json_texts(text)\n--\n\n"
"The texts of a JSON object as `json_header` gives it.\n\n"
"In Python: orjson.loads.";

PyObject *native_json_texts(PyObject *Py_UNUSED(module), PyObject *text) {
    PyObject *texts = PyBytes_CheckExact(text) ? PyDict_New() : NULL;
    if (texts != NULL && !json_whole(text, enter_member, texts))
        Py_CLEAR(texts);
    if (texts == NULL && !PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "bytes of an object of plain texts");
    return texts;
}

/* The value of a field whose text's first quote is passed, and moves on behind it. */
static PyObject *json_value(Json *json, const Field *field) {
    if (field->bits) {
        int64_t value;
        const uint8_t *at = json->at + digits(json->at, json->end, &value);
        if (at > json->at && at < json->end && *at == '"' && (field->bits == 64 || value <= INT32_MAX)) {
            json->at = at + 1;
            return PyLong_FromLongLong(value);
        }
    }
    PyObject *text = json_text(json, 0);
    if (text == NULL || field->texts == Py_None)
        return text;
    PyObject *value = PyObject_GetItem(field->texts, text);
    Py_DECREF(text);
    return value;
}

/* Which of the fields has the name that lies here, looked for from `next` on; -1 for none. */
static Py_ssize_t field_at(PyObject *fields, Py_ssize_t next, const uint8_t *name, Py_ssize_t length) {
    Py_ssize_t count = PyTuple_GET_SIZE(fields);
    for (Py_ssize_t tried = 0; tried < count; tried++, next++) {
        if (next >= count)
            next = 0;
        PyObject *parts = PyTuple_GET_ITEM(fields, next);
        PyObject *known = PyTuple_Check(parts) && PyTuple_GET_SIZE(parts) == 5 ? PyTuple_GET_ITEM(parts, 1) : Py_None;
        if (is_ascii(known) && PyUnicode_GET_LENGTH(known) == length &&
            memcmp(PyUnicode_1BYTE_DATA(known), name, (size_t)length) == 0)
            return next;
    }
    return -1;
}

#define FIELDS_MAX 64

/* A header that is being read: of its fields one is looked for from `next` on, and `seen` has a bit for each that was there. */
typedef struct {
    PyObject *made, *fields;
    Py_ssize_t next;
    uint64_t seen;
} Typed;

/* Set the attribute of the member that begins here, if it is a field. */
static int set_member(Json *json, void *context) {
    Typed *typed = context;
    const uint8_t *begin = json->at;
    json->at = plain_end(begin, json->end);
    Py_ssize_t number = field_at(typed->fields, typed->next, begin, json->at - begin);
    if (!passes(json, '"') || !passes(json, ':') || !passes(json, '"'))
        return 0;
    if (number < 0)
        return json_skip(json);
    Field field;
    PyObject *value = read_field(PyTuple_GET_ITEM(typed->fields, number), &field) ? json_value(json, &field) : NULL;
    int is_set = value != NULL && PyObject_SetAttr(typed->made, field.name, value) == 0;
    Py_XDECREF(value);
    typed->next = number + 1;
    typed->seen |= (uint64_t)1 << number;
    return is_set;
}

const char native_json_typed_doc[] = "json_typed(cls, fields, text)\n--\n\n"
"As `header`, of the texts of a JSON object as `json_header` gives it.\n\n"
"In Python: the function `decode` that codec.fields makes for each class, of what orjson.loads gives.";

PyObject *native_json_typed(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    if (count != 3 || !PyType_Check(args[0]) || !PyTuple_Check(args[1]) || !PyBytes_CheckExact(args[2])) {
        PyErr_SetString(PyExc_TypeError, "a class, its fields, and a text in bytes");
        return NULL;
    }
    if (PyTuple_GET_SIZE(args[1]) > FIELDS_MAX)
        Py_RETURN_NONE;
    Typed typed = {made_of(args[0]), args[1], 0, 0};
    if (typed.made == NULL)
        return NULL;
    int is_read = json_whole(args[2], set_member, &typed);
    for (Py_ssize_t number = 0; is_read && number < PyTuple_GET_SIZE(typed.fields); number++) {
        Field field;
        is_read = read_field(PyTuple_GET_ITEM(typed.fields, number), &field) &&
                  (!field.is_required || typed.seen >> number & 1);
    }
    if (is_read)
        return typed.made;
    Py_DECREF(typed.made);
    return unreadable();
}

typedef struct {
    int32_t code, version, opaque, flag;
    PyObject *language, *remark, *fields;
    Py_ssize_t count;
} Outline;

static int is_member(PyObject *name, const char *other) { return PyUnicode_CompareWithASCIIString(name, other) == 0; }

/* Read a member of a command by its name. */
static int read_named(Json *json, PyObject *name, Outline *outline) {
    PyObject **text = NULL;
    if (is_member(name, "code"))
        return json_number(json, &outline->code);
    if (is_member(name, "version"))
        return json_number(json, &outline->version);
    if (is_member(name, "opaque"))
        return json_number(json, &outline->opaque);
    if (is_member(name, "flag"))
        return json_number(json, &outline->flag);
    PyObject *ignored = NULL;
    if (is_member(name, "language"))
        text = &outline->language;
    else if (is_member(name, "remark"))
        text = &outline->remark;
    else if (is_member(name, "extFields"))
        text = &outline->fields;
    else if (is_member(name, "serializeTypeCurrentRPC"))
        text = &ignored;
    else
        return 0;
    if (text == &outline->fields) {
        const char *begin = (const char *)json->at;
        outline->count = 0;
        int is_passed = json_object(json, skip_member, &outline->count);
        Py_ssize_t length = (const char *)json->at - begin;
        Py_XSETREF(*text, is_passed ? PyBytes_FromStringAndSize(begin, length) : NULL);
    } else
        Py_XSETREF(*text, passes(json, '"') ? json_text(json, 0) : NULL);
    int is_read = *text != NULL;
    Py_XDECREF(ignored);
    return is_read;
}

static int read_member(Json *json, void *outline) {
    PyObject *name = json_text(json, 1);
    int is_read = name != NULL && passes(json, ':') && read_named(json, name, outline);
    Py_XDECREF(name);
    return is_read;
}

const char native_json_header_doc[] = "json_header(payload, end)\n--\n\n"
"What the JSON header says that lies in a frame from the fifth byte to `end`: code, language, version, opaque, flag,\n"
"remark, the object of its fields in bytes, and how many these are. None where it is not as most clients write it.\n\n"
"In Python: command.decode_command.";

PyObject *native_json_header(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    Py_ssize_t end = count == 2 && PyBytes_Check(args[0]) ? PyLong_AsSsize_t(args[1]) : -1;
    if (end < 4 || end > PyBytes_GET_SIZE(args[0])) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "a payload, and where its header ends");
        return NULL;
    }
    const uint8_t *payload = (const uint8_t *)PyBytes_AS_STRING(args[0]);
    Json json = {payload + 4, payload + end};
    Outline outline = {0, 0, 0, 0, NULL, NULL, NULL, 0};
    PyObject *read = NULL;
    if (json_object(&json, read_member, &outline) && json.at == json.end && outline.language != NULL && outline.fields != NULL)
        read = Py_BuildValue("(iOiiiOOn)", outline.code, outline.language, outline.version, outline.opaque, outline.flag,
                             outline.remark == NULL ? Py_None : outline.remark, outline.fields, outline.count);
    else if (!PyErr_Occurred())
        read = Py_NewRef(Py_None);
    Py_XDECREF(outline.language);
    Py_XDECREF(outline.remark);
    Py_XDECREF(outline.fields);
    return read;
}

/* Whether a text can stand in JSON as it is. */
static int is_plain(PyObject *text) {
    if (!is_ascii(text))
        return 0;
    const uint8_t *end = PyUnicode_1BYTE_DATA(text) + PyUnicode_GET_LENGTH(text);
    return plain_end(PyUnicode_1BYTE_DATA(text), end) == end;
}

static uint8_t *put_quoted(uint8_t *to, PyObject *text) {
    *to++ = '"';
    to = put_text(to, text);
    *to++ = '"';
    return to;
}

static uint8_t *put_sign(uint8_t *to, const char *sign) {
    size_t length = strlen(sign);
    memcpy(to, sign, length);
    return to + length;
}

#define ANSWER_BEGIN "{\"code\":%d,\"language\":\"PYTHON\",\"version\":%d,\"opaque\":%d,\"flag\":1," \
    "\"serializeTypeCurrentRPC\":\"JSON\""
#define FRAME_HEAD 8 /* length, and header length */

const char native_json_answer_doc[] = "json_answer(code, version, opaque, fields, remark, body)\n--\n\n"
"The frame of an answer; None where its header needs characters beside plain ones of ASCII.\n\n"
"In Python: command.encode_response.";

PyObject *native_json_answer(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    char begin[sizeof ANSWER_BEGIN + 3 * 12];
    if (count != 6 || !PyLong_Check(args[0]) || !PyLong_Check(args[1]) || !PyLong_Check(args[2]) ||
        !PyBytes_CheckExact(args[5]) || (args[3] != Py_None && !PyDict_CheckExact(args[3])) ||
        (args[4] != Py_None && !is_plain(args[4])))
        Py_RETURN_NONE;
    long code = PyLong_AsLong(args[0]), version = PyLong_AsLong(args[1]), opaque = PyLong_AsLong(args[2]);
    if (PyErr_Occurred())
        return NULL;
    if (code != (int)code || version != (int)version || opaque != (int)opaque)
        Py_RETURN_NONE;
    Py_ssize_t begin_length = sprintf(begin, ANSWER_BEGIN, (int)code, (int)version, (int)opaque);
    PyObject *fields = args[3], *remark = args[4], *name, *value;
    Py_ssize_t place = 0, length = begin_length + 1, body_length = PyBytes_GET_SIZE(args[5]);
    if (fields != Py_None && PyDict_GET_SIZE(fields) > 0) {
        length += (Py_ssize_t)strlen(",\"extFields\":{}") - 1;
        while (PyDict_Next(fields, &place, &name, &value)) {
            if (!is_plain(name) || !is_plain(value))
                Py_RETURN_NONE;
            length += PyUnicode_GET_LENGTH(name) + PyUnicode_GET_LENGTH(value) + (Py_ssize_t)strlen(",\"\":\"\"");
        }
    }
    if (remark != Py_None)
        length += PyUnicode_GET_LENGTH(remark) + (Py_ssize_t)strlen(",\"remark\":\"\"");
    if (length > 0xFFFFFF || body_length > INT32_MAX - 4 - length)
        Py_RETURN_NONE;
    PyObject *frame = PyBytes_FromStringAndSize(NULL, FRAME_HEAD + length + body_length);
    if (frame == NULL)
        return NULL;
    uint8_t *to = (uint8_t *)PyBytes_AS_STRING(frame);
    put4(to, (uint32_t)(4 + length + body_length));
    put4(to + 4, (uint32_t)length); /* the form of JSON is 0 */
    to += FRAME_HEAD;
    memcpy(to, begin, (size_t)begin_length);
    to += begin_length;
    if (fields != Py_None && PyDict_GET_SIZE(fields) > 0) {
        to = put_sign(to, ",\"extFields\":{");
        for (place = 0; PyDict_Next(fields, &place, &name, &value);) {
            to = put_quoted(to, name);
            *to++ = ':';
            to = put_quoted(to, value);
            *to++ = ',';
        }
        to[-1] = '}';
    }
    if (remark != Py_None)
        to = put_quoted(put_sign(to, ",\"remark\":"), remark);
    *to++ = '}';
    memcpy(to, PyBytes_AS_STRING(args[5]), (size_t)body_length);
    return frame;
}
