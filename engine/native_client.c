/* What a client does for each message that it sends; see native.c. */

#include "native.h"

/* Bytes of an element beside its body and properties, and of these at most. */
#define ELEMENT_BYTES 22
#define PROPERTIES_MAX INT16_MAX

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
    Py_ssize_t numbers[3];
    for (int at = 0; at < 3; at++) {
        numbers[at] = PyLong_AsSsize_t(args[at + 1]);
        if (numbers[at] == -1 && PyErr_Occurred())
            return NULL;
    }
    Py_ssize_t begin = numbers[0], size_max = numbers[1], count_max = numbers[2];
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
