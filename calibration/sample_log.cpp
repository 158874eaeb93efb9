// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/sample_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "calibration/calibrate.hpp"
#include "calibration/sample.hpp"
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

// The raw samples of a calibration as JSON.

namespace {

using Json = nlohmann::ordered_json;

Json sample_json(const Sample& s) {
  Json j = {{"name", s.name}};
  if (const auto* k = std::get_if<KernelSample>(&s.point)) {
    j["kernel"] = name_of(k->kernel);
    j["flops"] = k->flops.base();
    j["bytes"] = k->bytes.base();
    j["threads"] = k->threads;
    if (k->math != DType::fp32) j["math"] = name_of(k->math);
    if (!k->judged.empty()) j["judged"] = k->judged;
    if (k->norm_bytes > Bytes(0)) j["norm_bytes"] = k->norm_bytes.base();
  } else if (const auto* c = std::get_if<CollectiveSample>(&s.point)) {
    j["collective"] = name_of(c->collective);
    j["group"] = c->group;
    if (c->stride > 1) j["stride"] = c->stride;
    if (c->windows) j["windows"] = true;
    if (c->type != DType::fp32) j["type"] = name_of(c->type);
    if (!c->judged.empty()) j["judged"] = c->judged;
    j["ranks"] = c->ranks;
    j["wire_bytes"] = c->wire.base();
  } else {
    const auto& o = std::get<OtherSample>(s.point);
    j["what"] = o.what;
    j["bytes"] = o.bytes.base();
  }
  j["seconds"] = s.time.base();
  j["repeats"] = s.repeats;
  j["raw"] = s.raw;
  return j;
}

}  // namespace

std::string samples_json(const CalibrationResult& result) {
  Json samples = Json::array(), residuals = Json::array();
  for (const Sample& s : result.samples) samples.push_back(sample_json(s));
  for (const Residual& r : result.residuals) {
    Json j = {{"family", r.family}};
    if (!r.kind.empty()) j["kind"] = r.kind;
    j["in_sample"] = r.in_sample;
    j["in_sample_median"] = r.in_sample_median;
    j["held_out"] = r.held_out;
    j["held_out_median"] = r.held_out_median ? Json(*r.held_out_median) : Json();
    j["held_out_worst"] = r.held_out_worst ? Json(*r.held_out_worst) : Json();
    residuals.push_back(std::move(j));
  }
  Json facts = Json::object();
  for (const auto& [name, value] : result.facts) facts[name] = value;
  return Json({{"schema_version", 1},
               {"profile", result.profile.name},
               {"cluster", result.profile.cluster},
               {"created", result.profile.created},
               {"facts", facts},
               {"not_measured", result.failed},
               {"residuals", residuals},
               {"samples", samples}})
             .dump(1) +
         "\n";
}

// What samples and tables call kernels.

const char* name_of(KernelClass kernel) {
  switch (kernel) {
    case KernelClass::gemm:
      return "gemm";
    case KernelClass::grouped_gemm:
      return "grouped_gemm";
    case KernelClass::attention_fwd:
      return "attention_fwd";
    case KernelClass::attention_bwd:
      return "attention_bwd";
    case KernelClass::memory_bound:
      return "memory_bound";
    case KernelClass::norm:
      return "norm";
    case KernelClass::activation:
      return "activation";
    case KernelClass::loss:
      return "loss";
    case KernelClass::router:
      return "router";
    case KernelClass::permute:
      return "permute";
    case KernelClass::quantize:
      return "quantize";
    case KernelClass::optimizer:
      return "optimizer";
    case KernelClass::rope:
      return "rope";
    case KernelClass::head_norm:
      return "head_norm";
    case KernelClass::sweep:
      return "sweep";
    case KernelClass::convert:
      return "convert";
    case KernelClass::dequantize:
      return "dequantize";
    case KernelClass::router_bwd:
      return "router_bwd";
    case KernelClass::embedding:
      return "embedding";
  }
  return "?";
}

}  // namespace pleat
