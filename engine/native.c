/* What the roads of a send do for each message or field, in C.

Each function has a form in Python that says what it has to give, named beside it; property tests compare the two
(tests/engine/test_extension.py). It is built with MQGATEWAY_COMPILE=1 only, and nothing needs it. Functions keep nothing
between calls but names that recur; all hold the interpreter's lock throughout. Bytes that come from a peer are measured
before they are read; numbers in them are big-endian. */

#include "native.h"

#define FAST(function) (PyCFunction)(void (*)(void))function

static PyMethodDef functions[] = {
    {"crc32", native_crc32, METH_O, native_crc32_doc},
    {"crc32c", native_crc32c, METH_O, native_crc32c_doc},
    {"inflate_block", FAST(native_inflate_block), METH_FASTCALL, native_inflate_block_doc},
    {"inflate_frames", FAST(native_inflate_frames), METH_FASTCALL, native_inflate_frames_doc},
    {"deflate_block", native_deflate_block, METH_O, native_deflate_block_doc},
    {"walk_records", FAST(native_walk_records), METH_FASTCALL, native_walk_records_doc},
    {"cut_records", FAST(native_cut_records), METH_FASTCALL, native_cut_records_doc},
    {"ordinary_batch", FAST(native_ordinary_batch), METH_FASTCALL, native_ordinary_batch_doc},
    {"single_batch", native_single_batch, METH_O, native_single_batch_doc},
    {"record_starts", FAST(native_record_starts), METH_FASTCALL, native_record_starts_doc},
    {"expand_records", FAST(native_expand_records), METH_FASTCALL | METH_KEYWORDS, native_expand_records_doc},
    {"add_messages", FAST(native_add_messages), METH_FASTCALL | METH_KEYWORDS, native_add_messages_doc},
    {"run_of", FAST(native_run_of), METH_FASTCALL, native_run_of_doc},
    {"record_rows", FAST(native_record_rows), METH_FASTCALL, native_record_rows_doc},
    {"element_sizes", native_element_sizes, METH_O, native_element_sizes_doc},
    {"batch_records", native_batch_records, METH_VARARGS, native_batch_records_doc},
    {"batch_from", FAST(native_batch_from), METH_FASTCALL, native_batch_from_doc},
    {"plain_messages", FAST(native_plain_messages), METH_FASTCALL, native_plain_messages_doc},
    {"unique_keys", native_unique_keys, METH_O, native_unique_keys_doc},
    {"key_hashes", native_key_hashes, METH_VARARGS, native_key_hashes_doc},
    {"key_hash", FAST(native_key_hash), METH_FASTCALL, native_key_hash_doc},
    {"queue_units", native_queue_units, METH_VARARGS, native_queue_units_doc},
    {"index_entries", native_index_entries, METH_VARARGS, native_index_entries_doc},
    {"header", native_header, METH_VARARGS, native_header_doc},
    {"properties", native_properties, METH_O, native_properties_doc},
    {"properties_text", native_properties_text, METH_O, native_properties_text_doc},
    {"json_header", FAST(native_json_header), METH_FASTCALL, native_json_header_doc},
    {"json_texts", native_json_texts, METH_O, native_json_texts_doc},
    {"json_typed", FAST(native_json_typed), METH_FASTCALL, native_json_typed_doc},
    {"json_answer", FAST(native_json_answer), METH_FASTCALL, native_json_answer_doc},
    {"message_ids", FAST(native_message_ids), METH_FASTCALL, native_message_ids_doc},
    {"slices", FAST(native_slices), METH_FASTCALL, native_slices_doc},
    {"gather", FAST(native_gather), METH_FASTCALL, native_gather_doc},
    {"property_values", FAST(native_property_values), METH_FASTCALL, native_property_values_doc},
    {"take_known", FAST(native_take_known), METH_FASTCALL | METH_KEYWORDS, native_take_known_doc},
    {"choose", FAST(native_choose), METH_FASTCALL | METH_KEYWORDS, native_choose_doc},
    {"record", FAST(native_record), METH_FASTCALL | METH_KEYWORDS, native_record_doc},
    {NULL, NULL, 0, NULL},
};

/* Where an argument is put: -1 for one that is unknown. Names in the callers' code are interned, as these are. */
static int place_of_name(const Named *named, int expected, PyObject *name) {
    if (named->names[expected] == name)
        return expected;
    for (int place = 0; place < named->count; place++)
        if (PyUnicode_Compare(named->names[place], name) == 0)
            return place;
    return -1;
}

int take_named(PyObject *const *args, Py_ssize_t unnamed, PyObject *names, Named *named, PyObject **taken) {
    Py_ssize_t given = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    if (unnamed != 0 || given != named->count) {
        PyErr_Format(PyExc_TypeError, "%d arguments by name are wanted, not %zd, and %zd without", named->count, given, unnamed);
        return 0;
    }
    for (int at = 0; at < named->count; at++) {
        if (named->names[at] == NULL && (named->names[at] = PyUnicode_InternFromString(named->texts[at])) == NULL)
            return 0;
        taken[at] = NULL;
    }
    for (int at = 0; at < named->count; at++) {
        int place = place_of_name(named, at, PyTuple_GET_ITEM(names, at));
        if (place < 0 || taken[place] != NULL) {
            PyErr_Format(PyExc_TypeError, "no argument has the name %R, or two have", PyTuple_GET_ITEM(names, at));
            return 0;
        }
        taken[place] = args[at];
    }
    return 1;
}

static int begin_module(PyObject *Py_UNUSED(module)) {
    native_prepare_crc();
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
