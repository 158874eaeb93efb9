// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "python/binding/errors.hpp"

#include <nanobind/nanobind.h>

#include <string>
#include <system_error>

#include "core/diagnostics.hpp"

namespace pleat::python {
namespace {

namespace nb = nanobind;

void raise(const std::string& text, ExitCode code) {
  const nb::object error = nb::module_::import_("pleat._errors")
                               .attr("error_of")(text.c_str(), static_cast<int>(code));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const ConfigError& e) {
    raise(e.what(), e.exit_code());
  } catch (const std::system_error& e) {  // of the file system
    raise(std::string("error: ") + e.what(), ExitCode::device_or_io);
  }
}

}  // namespace

void translate_errors() { nb::register_exception_translator(translate); }

}  // namespace pleat::python
