// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "python/binding/errors.hpp"

#include <nanobind/nanobind.h>

#include "core/diagnostics.hpp"

namespace pleat::python {
namespace {

namespace nb = nanobind;

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const ConfigError& e) {
    const nb::object error = nb::module_::import_("pleat._errors")
                                 .attr("error_of")(e.what(), static_cast<int>(e.exit_code()));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  }
}

}  // namespace

void translate_errors() { nb::register_exception_translator(translate); }

}  // namespace pleat::python
