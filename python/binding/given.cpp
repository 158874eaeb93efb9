// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "python/binding/given.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <limits>

#include "core/diagnostics.hpp"

namespace pleat::python {
namespace {

namespace nb = nanobind;

[[noreturn]] void refuse_type(const std::string& option, const char* wanted, nb::handle value) {
  const std::string text = fmt::format("{}: must be {}, not {}", argument_name(option), wanted,
                                       nb::cast<std::string>(nb::repr(value)));
  throw nb::type_error(text.c_str());
}

// NumPy's integers too; bool is none.
std::optional<std::int64_t> whole_number(nb::handle value) {
  if (PyBool_Check(value.ptr()) || !PyIndex_Check(value.ptr())) return {};
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow > 0) return std::numeric_limits<std::int64_t>::max();
  if (overflow < 0) return std::numeric_limits<std::int64_t>::min();
  return number;
}

// A word as it would be typed.
std::string word_of(const std::string& option, nb::handle value) {
  if (PyUnicode_Check(value.ptr())) return nb::cast<std::string>(value);
  if (PyBool_Check(value.ptr())) return value.is(Py_True) ? "on" : "off";
  if (const auto number = whole_number(value)) return std::to_string(*number);
  if (PyFloat_Check(value.ptr())) return nb::cast<std::string>(nb::repr(value));
  refuse_type(option, "a word, a number or a bool", value);
}

// A single value is a list of one.
std::vector<nb::object> items_of(const std::string& option, nb::handle value) {
  std::vector<nb::object> items;
  if (PyUnicode_Check(value.ptr()) || !PyObject_HasAttrString(value.ptr(), "__iter__")) {
    items.push_back(nb::borrow(value));
    return items;
  }
  for (const nb::handle item : nb::iter(value)) items.push_back(nb::borrow(item));
  if (items.empty()) refuse_type(option, "a list of at least one value", value);
  return items;
}

template <class T>
void add_once(std::vector<T>& list, T value) {
  if (std::ranges::find(list, value) == list.end()) list.push_back(value);
}

}  // namespace

std::string argument_name(std::string option) {
  option.erase(0, option.find_first_not_of('-'));
  std::ranges::replace(option, '-', '_');
  return option;
}

Given::Given(const nb::dict& values, std::string command)
    : values_(values), command_(std::move(command)) {}

bool Given::has(const std::string& option) const {
  const std::string name = argument_name(option);
  return values_.contains(name.c_str());
}

nb::object Given::find(const std::string& option) {
  const std::string name = argument_name(option);
  known_.insert(name);
  if (!values_.contains(name.c_str())) return {};
  taken_.insert(name);
  return nb::borrow(values_[name.c_str()]);
}

void Given::refuse(const std::string& option, const std::string& problem) const {
  throw_config_error(ExitCode::bad_request, "", "", option + ": " + problem,
                     fmt::format("`pleat help {}` lists the options", command_));
}

void Given::take(const std::string& option, std::string& value) {
  if (const nb::object given = find(option)) value = word_of(option, given);
}

void Given::take(const std::string& option, std::optional<std::string>& value) {
  if (const nb::object given = find(option)) value = word_of(option, given);
}

void Given::take(const std::string& option, std::vector<std::string>& value) {
  const nb::object given = find(option);
  if (!given) return;
  value.clear();
  for (const nb::object& item : items_of(option, given)) value.push_back(word_of(option, item));
}

void Given::take(const std::string& option, bool& value) {
  const nb::object given = find(option);
  if (!given) return;
  if (!PyBool_Check(given.ptr())) refuse_type(option, "True or False", given);
  value = given.is(Py_True);
}

void Given::take(const std::string& option, std::int64_t& value, std::int64_t least,
                 std::int64_t most) {
  const nb::object given = find(option);
  if (!given) return;
  const auto number = whole_number(given);
  if (!number) refuse_type(option, "a whole number", given);
  if (*number < least || *number > most) {
    refuse(option, fmt::format("Value {} not in range [{} - {}]",
                               nb::cast<std::string>(nb::str(given)), least, most));
  }
  value = *number;
}

void Given::take(const std::string& option, int& value, int least, int most) {
  std::int64_t number = value;
  take(option, number, std::int64_t{least}, std::int64_t{most});
  value = static_cast<int>(number);
}

void Given::take(const std::string& option, double& value, double least, double most) {
  const nb::object given = find(option);
  if (!given) return;
  if (PyUnicode_Check(given.ptr()) || PyBool_Check(given.ptr()) || !PyNumber_Check(given.ptr())) {
    refuse_type(option, "a number", given);
  }
  const double number = PyFloat_AsDouble(given.ptr());
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  if (!(number >= least && number <= most)) {
    refuse(option, fmt::format("Value {} not in range [{} - {}]",
                               nb::cast<std::string>(nb::str(given)), least, most));
  }
  value = number;
}

void Given::take(const std::string& option, std::vector<std::int64_t>& value, std::int64_t least,
                 std::int64_t most) {
  const nb::object given = find(option);
  if (!given) return;
  value.clear();
  for (const nb::object& item : items_of(option, given)) {
    const auto number = whole_number(item);
    if (!number) refuse_type(option, "whole numbers", given);
    if (*number < least || *number > most) {
      refuse(option, fmt::format("Value {} not in range [{} - {}]", *number, least, most));
    }
    value.push_back(*number);
  }
}

void Given::take(const std::string& option, std::vector<int>& value, int least, int most) {
  std::vector<std::int64_t> numbers;
  if (!has(option)) return take(option, numbers, std::int64_t{least}, std::int64_t{most});
  take(option, numbers, std::int64_t{least}, std::int64_t{most});
  value.clear();
  for (const std::int64_t number : numbers) add_once(value, static_cast<int>(number));
}

void Given::take_one_of(const std::string& option, std::string& value,
                        const std::vector<std::string>& words) {
  take(option, value);
  if (!has(option) || std::ranges::find(words, value) != words.end()) return;
  refuse(option, fmt::format("{} not in {{{}}}", value, fmt::join(words, ",")));
}

void Given::finish() const {
  for (const auto& [key, value] : values_) {
    const std::string name = nb::cast<std::string>(key);
    if (taken_.contains(name)) continue;
    const std::string near = nearest_name(name, {known_.begin(), known_.end()});
    throw_config_error(ExitCode::bad_request, "", "", "unknown argument '" + name + "'",
                       near.empty()
                           ? fmt::format("`pleat help {}` lists the options", command_)
                           : "did you mean " + near + "?");
  }
}

}  // namespace pleat::python
