/* What a client does for each message that it sends or is given; see native.c. */

#include "native.h"
#include <structmember.h>

/* Bytes of an element beside its body and properties, and of these at most. */
#define ELEMENT_BYTES RECORD_ELEMENT_SIZE_MIN
#define PROPERTIES_MAX RECORD_PROPERTIES_LENGTH_MAX

static PyObject *body_name, *flag_name, *properties_name;

static int know_names(void) {
    if (properties_name == NULL) {
        body_name = PyUnicode_InternFromString("body");
        flag_name = PyUnicode_InternFromString("flag");
        properties_name = PyUnicode_InternFromString("properties");
    }
    return body_name != NULL && flag_name != NULL && properties_name != NULL;
}

/* The parts of a message, whose references the caller gets. */
typedef struct {
    PyObject *body, *properties;
    Py_ssize_t properties_size, size;
    int32_t flag;
} Element;

static void let_go(Element *element) {
    Py_CLEAR(element->body);
    Py_CLEAR(element->properties);
}

/* Whether it is one that can be written here; an exception only where the message raised one. */
static int read_element(PyObject *message, Element *element) {
    PyObject *flag = PyObject_GetAttr(message, flag_name);
    element->body = flag == NULL ? NULL : PyObject_GetAttr(message, body_name);
    element->properties = element->body == NULL ? NULL : PyObject_GetAttr(message, properties_name);
    int overflow = 1;
    long long number = 0;
    if (element->properties != NULL && PyLong_CheckExact(flag))
        number = PyLong_AsLongLongAndOverflow(flag, &overflow);
    Py_XDECREF(flag);
    if (overflow || number != (int32_t)number || !PyBytes_CheckExact(element->body))
        return 0;
    element->flag = (int32_t)number;
    element->properties_size = properties_size(element->properties);
    element->size = ELEMENT_BYTES + PyBytes_GET_SIZE(element->body) + element->properties_size;
    return element->properties_size >= 0 && element->properties_size <= PROPERTIES_MAX && element->size <= INT32_MAX;
}

static void write_element(uint8_t *to, const Element *element) {
    Py_ssize_t length = PyBytes_GET_SIZE(element->body);
    put4(to, (uint32_t)element->size);
    put8(to + 4, 0);
    put4(to + 12, (uint32_t)element->flag);
    put4(to + 16, (uint32_t)length);
    memcpy(to + 20, PyBytes_AS_STRING(element->body), (size_t)length);
    to += 20 + length;
    *to++ = (uint8_t)(element->properties_size >> 8);
    *to++ = (uint8_t)element->properties_size;
    put_properties(to, element->properties);
}

const char native_batch_from_doc[] = "batch_from(messages, begin, size_max, count_max)\n--\n\n"
"The body of a batch of these messages from one on, at least that one, and how many there are; None where one is not\n"
"of bytes, ASCII characters and a flag of 32 bits.\n\n"
"In Python: client.batches.batch_from.";

PyObject *native_batch_from(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given) {
    if (given != 4 || !PyList_CheckExact(args[0])) {
        PyErr_SetString(PyExc_TypeError, "a list and three numbers are wanted");
        return NULL;
    }
    PyObject *messages = args[0];
    long long numbers[3];
    if (!read_numbers(args + 1, 3, numbers))
        return NULL;
    Py_ssize_t begin = (Py_ssize_t)numbers[0], size_max = (Py_ssize_t)numbers[1], count_max = (Py_ssize_t)numbers[2];
    if (begin < 0) {
        PyErr_SetString(PyExc_ValueError, "a place before the list");
        return NULL;
    }
    if (!know_names())
        return NULL;
    PyObject *body = PyBytes_FromStringAndSize(NULL, 4096);
    Py_ssize_t size = 0, count = 0;
    int is_plain = 1;
    /* The list is looked at anew each time: reading a message may call Python. */
    for (; body != NULL && count < count_max && begin < PyList_GET_SIZE(messages) - count; count++) {
        Element element = {0};
        PyObject *message = Py_NewRef(PyList_GET_ITEM(messages, begin + count));
        is_plain = read_element(message, &element);
        Py_DECREF(message);
        if (!is_plain || (count > 0 && size + element.size > size_max)) {
            let_go(&element);
            break;
        }
        if (size + element.size > PyBytes_GET_SIZE(body))
            _PyBytes_Resize(&body, (size + element.size) * 2);
        if (body != NULL) {
            write_element((uint8_t *)PyBytes_AS_STRING(body) + size, &element);
            size += element.size;
        }
        let_go(&element);
    }
    if (body == NULL || PyErr_Occurred()) {
        Py_XDECREF(body);
        return NULL;
    }
    if (!is_plain) {
        Py_DECREF(body);
        Py_RETURN_NONE;
    }
    return _PyBytes_Resize(&body, size) < 0 ? NULL : Py_BuildValue("Nn", body, count);
}

/* The attributes of a message that was received, as its class keeps them: in slots, each at an offset. */

enum {
    STORE_SIZE, FLAG, QUEUE_OFFSET, PHYSICAL_OFFSET, SYS_FLAG, BORN, BORN_HOST, STORED, STORE_HOST, RECONSUMED,
    TOPIC, BODY, QUEUE, TEXT, ADDED, PROPERTIES, SLOTS
};

static const char *const slot_names[SLOTS] = {
    "store_size", "flag", "queue_offset", "physical_offset", "sys_flag", "born_timestamp", "_born_host",
    "store_timestamp", "_store_host", "reconsume_times", "topic", "body", "queue", "_text", "_added", "_properties",
};

/* Where a class has its slots; zero with an exception where it is no class with these. */
static int find_slots(PyObject *cls, Py_ssize_t offsets[SLOTS]) {
    if (!PyType_Check(cls)) {
        PyErr_SetString(PyExc_TypeError, "the class of messages is wanted");
        return 0;
    }
    for (int slot = 0; slot < SLOTS; slot++) {
        PyObject *found = PyObject_GetAttrString(cls, slot_names[slot]);
        if (found == NULL)
            return 0;
        int is_slot = Py_IS_TYPE(found, &PyMemberDescr_Type) && ((PyMemberDescrObject *)found)->d_member->type == T_OBJECT_EX;
        offsets[slot] = is_slot ? ((PyMemberDescrObject *)found)->d_member->offset : 0;
        Py_DECREF(found);
        if (!is_slot) {
            PyErr_Format(PyExc_TypeError, "%s is no slot", slot_names[slot]);
            return 0;
        }
    }
    return 1;
}

/* Compressed; to be taken apart, a batch; hosts of IPv6. */
#define NOT_QUICK (SYS_COMPRESSED | SYS_NEED_UNWRAP | SYS_INNER_BATCH | SYS_BORN_HOST_V6 | SYS_STORE_HOST_V6)

/* A message whose queue and topic are those of the messages before, or none. */
static PyObject *received(PyTypeObject *cls, const Py_ssize_t offsets[SLOTS], const Plain *plain, PyObject *topic,
                          PyObject *queue, PyObject *added) {
    const uint8_t *head = plain->head;
    PyObject *message = cls->tp_alloc(cls, 0);
    PyObject *values[SLOTS] = {
        [STORE_SIZE] = PyLong_FromLong((int32_t)get4(head)),
        [FLAG] = PyLong_FromLong((int32_t)get4(head + 16)),
        [QUEUE_OFFSET] = PyLong_FromLongLong(get8(head + 20)),
        [PHYSICAL_OFFSET] = PyLong_FromLongLong(get8(head + 28)),
        [SYS_FLAG] = PyLong_FromLong((int32_t)get4(head + 36)),
        [BORN] = PyLong_FromLongLong(get8(head + 40)),
        [BORN_HOST] = PyBytes_FromStringAndSize((const char *)head + 48, 8),
        [STORED] = PyLong_FromLongLong(get8(head + 56)),
        [STORE_HOST] = PyBytes_FromStringAndSize((const char *)head + 64, 8),
        [RECONSUMED] = PyLong_FromLong((int32_t)get4(head + 72)),
        [TOPIC] = Py_NewRef(topic),
        [BODY] = PyBytes_FromStringAndSize((const char *)plain->body, plain->body_size),
        [QUEUE] = Py_NewRef(queue),
        [TEXT] = PyBytes_FromStringAndSize((const char *)plain->text, plain->text_size),
        [ADDED] = Py_NewRef(added),
        [PROPERTIES] = Py_NewRef(Py_None),
    };
    int is_whole = message != NULL;
    for (int slot = 0; slot < SLOTS; slot++) {
        is_whole = is_whole && values[slot] != NULL;
        if (message != NULL)
            *(PyObject **)((char *)message + offsets[slot]) = values[slot];
        else
            Py_XDECREF(values[slot]);
    }
    if (!is_whole)
        Py_CLEAR(message);
    return message;
}

const char native_plain_messages_doc[] = "plain_messages(cls, queue_of, broker_name, added, body, at, messages)\n--\n\n"
"Adds to `messages` what the records say that lie back to back in a body from `at` on, up to one that is not of version 1,\n"
"or is compressed, a batch, of a host of IPv6, or damaged; where that one is.\n\n"
"In Python: client.reading._read_plain.";

PyObject *native_plain_messages(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given) {
    Py_ssize_t offsets[SLOTS];
    if (given != 7 || !PyTuple_CheckExact(args[3]) || !PyBytes_CheckExact(args[4]) || !PyList_CheckExact(args[6])) {
        PyErr_SetString(PyExc_TypeError, "a class, a function, a name, a tuple, bytes, a place and a list are wanted");
        return NULL;
    }
    Py_ssize_t at = PyLong_AsSsize_t(args[5]), total = PyBytes_GET_SIZE(args[4]);
    if ((at == -1 && PyErr_Occurred()) || !find_slots(args[0], offsets))
        return NULL;
    if (at < 0) {
        PyErr_SetString(PyExc_ValueError, "a place before the body");
        return NULL;
    }
    const uint8_t *body = (const uint8_t *)PyBytes_AS_STRING(args[4]);
    PyObject *topic = NULL, *queue = NULL;
    Plain plain, last = {0};
    while (at < total && read_plain(body + at, total - at, NOT_QUICK, &plain)) {
        if (queue == NULL || plain.topic_size != last.topic_size || memcmp(plain.topic, last.topic, (size_t)last.topic_size) ||
            memcmp(plain.head + 12, last.head + 12, 4)) {
            Py_XSETREF(topic, PyUnicode_DecodeUTF8((const char *)plain.topic, plain.topic_size, "replace"));
            Py_XSETREF(queue, topic == NULL ? NULL : PyObject_CallFunction(args[1], "OOl", topic, args[2], (long)(int32_t)get4(plain.head + 12)));
            last = plain;
        }
        PyObject *message = queue == NULL ? NULL : received((PyTypeObject *)args[0], offsets, &plain, topic, queue, args[3]);
        int is_kept = message != NULL && PyList_Append(args[6], message) == 0;
        Py_XDECREF(message);
        if (!is_kept)
            break;
        at += plain.size;
    }
    Py_XDECREF(topic);
    Py_XDECREF(queue);
    return PyErr_Occurred() ? NULL : PyLong_FromSsize_t(at);
}
