// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/sample_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

using Json = nlohmann::ordered_json;

Json header(const std::vector<std::pair<std::string, std::string>>& facts) {
  Json j = {{"pleat_calibration", 1}};
  for (const auto& [name, value] : facts) j[name] = value;
  return j;
}

// Null: no complete line of a point.
Json point_line(const std::string& line) {
  const Json j = Json::parse(line, nullptr, false);
  const bool whole = j.is_object() && j.contains("name") && j["name"].is_string() &&
                     j.contains("seconds") && j["seconds"].is_array() && j.contains("repeats") &&
                     j["repeats"].is_number_integer();
  return whole ? j : Json();
}

}  // namespace

SampleLog::SampleLog(std::string path,
                     const std::vector<std::pair<std::string, std::string>>& facts)
    : path_(std::move(path)), fd_(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
  if (fd_ < 0) fail("cannot be opened");
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    ::close(fd_);
    throw_config_error(ExitCode::device_or_io, path_, "", "another calibration writes to it");
  }
  std::string text;
  char block[65536];
  for (ssize_t n = 0; (n = ::read(fd_, block, sizeof block)) != 0;) {
    if (n < 0) fail("cannot be read");
    text.append(block, static_cast<std::size_t>(n));
  }
  const Json wanted = header(facts);
  std::size_t good = 0;  // bytes of complete lines
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    const std::string line = text.substr(begin, end - begin);
    if (begin == 0) {
      const Json there = Json::parse(line, nullptr, false);
      if (there != wanted) {
        ::close(fd_);
        throw_config_error(ExitCode::verification, path_, "",
                           "the samples in it are of another calibration: " + line.substr(0, 400),
                           "this one is " + wanted.dump() + "; remove the file to start anew");
      }
    } else {
      const Json j = point_line(line);
      if (j.is_null()) break;
      timings_[j["name"]] = {j["seconds"].get<std::vector<double>>(), j["repeats"]};
    }
    good = end + 1;
  }
  found_ = timings_.size();
  if (::ftruncate(fd_, static_cast<off_t>(good)) != 0 || ::lseek(fd_, 0, SEEK_END) < 0) {
    fail("cannot be cut");
  }
  if (good == 0) append(wanted.dump());
}

SampleLog::~SampleLog() { ::close(fd_); }

const Timing* SampleLog::find(const std::string& name) const {
  const auto it = timings_.find(name);
  return it == timings_.end() ? nullptr : &it->second;
}

void SampleLog::add(const std::string& name, const Timing& t) {
  append(Json({{"name", name}, {"repeats", t.repeats}, {"seconds", t.seconds}}).dump());
  timings_[name] = t;
}

void SampleLog::append(const std::string& line) {
  const std::string text = line + "\n";
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(fd_, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("cannot be written");
    done += static_cast<std::size_t>(n);
  }
  if (::fsync(fd_) != 0) fail("cannot be synchronised");
}

void SampleLog::fail(const char* what) const {
  throw_config_error(ExitCode::device_or_io, path_, "",
                     fmt::format("{}: {}", what, std::strerror(errno)));
}

}  // namespace pleat
