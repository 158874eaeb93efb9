// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/nccl_window.hpp"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "core/diagnostics.hpp"

namespace pleat {

std::byte* NcclMemory::allocate(std::int64_t bytes) {
  device_.synchronize();  // makes the device the thread's current one, too
  void* data = nullptr;
  const bool given = functions_->has_windows() && bytes > 0 &&
                     functions_->mem_alloc(&data, static_cast<std::size_t>(bytes)) == kNcclSuccess;
  if (!given) return device_.memory().allocate(bytes);
  auto* const piece = static_cast<std::byte*>(data);
  device_.adopt(piece, bytes);
  mapped_->insert(piece);
  return piece;
}

void NcclMemory::release(std::byte* data) noexcept {
  if (mapped_->erase(data) == 0) return device_.memory().release(data);
  device_.let_go(data);
  try {
    device_.synchronize();           // pages are taken away from under work that uses them
  } catch (const std::exception&) {  // a lost peer, which others report
  }
  functions_->mem_free(data);  // a failure belongs to earlier work; it is reported there
}

namespace {

// What a member brings.
struct Claim {
  std::int64_t bytes = 0;
  std::uint64_t layout = 0;
  std::int32_t version = 0;     // NCCL's
  std::int32_t has_memory = 0;  // of NCCL
  std::int32_t has_windows = 0, padding = 0;
};

// How a registration ended on a member.
struct Ending {
  std::int32_t result = kNcclSuccess, registered = 0;
};

double mib(std::int64_t bytes) { return static_cast<double>(bytes) / (std::int64_t{1} << 20U); }

std::string version_text(int v) {
  return fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100);
}

// Why there is no window; empty: nothing stands in the way.
std::string obstacle(const std::vector<Claim>& claims) {
  const Claim& first = claims.front();
  for (std::size_t m = 0; m < claims.size(); ++m) {
    const Claim& c = claims[m];
    if (c.has_windows == 0) {
      return fmt::format("NCCL {} of member {} has none, 2.27 is the first that does",
                         version_text(c.version), m);
    }
    if (c.bytes != first.bytes) {
      return fmt::format("member {} has {} bytes, member 0 {}", m, c.bytes, first.bytes);
    }
    if (c.layout != first.layout) {
      return fmt::format("buffers of member {} lie at other offsets than those of member 0", m);
    }
    if (c.has_memory == 0) {
      return fmt::format("NCCL has no {:.2f} MiB for member {}", mib(c.bytes), m);
    }
  }
  return {};
}

}  // namespace

template <class T>
std::vector<T> NcclSymmetricWindow::of_all(const T& mine) {
  std::vector<T> all(static_cast<std::size_t>(by_host_.size()));
  by_host_.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

void NcclSymmetricWindow::say(const std::string& line) {
  if (by_host_.rank() == 0 && job_.settings.say) job_.settings.say(line);
}

bool NcclSymmetricWindow::agreed(const WindowBuffer& buffer) {
  PLEAT_ASSERT(handle_ == nullptr);  // host calls take no buffer that is in two windows
  Claim mine{.bytes = std::ssize(buffer.memory), .layout = buffer.layout};
  job_.functions->get_version(&mine.version);
  mine.has_windows = job_.functions->has_windows() ? 1 : 0;
  mine.has_memory = job_.mapped->contains(buffer.memory.data()) ? 1 : 0;
  // Registering maps memory, which may wait for a device that waits for a peer: all are idle before
  // any begins.
  device_.synchronize();
  const std::string reason = obstacle(of_all(mine));
  if (reason.empty()) return true;
  say(fmt::format("no symmetric window over {}: {}", buffer.group, reason));
  return false;
}

bool NcclSymmetricWindow::open(NcclComm& comm, const WindowBuffer& buffer) {
  const NcclFunctions& f = *job_.functions;
  const auto abort = [&] {
    handle_ = nullptr;
    if (comm != nullptr) f.comm_abort(std::exchange(comm, nullptr));
  };
  const int result =
      nccl_result(job_, comm,
                  f.comm_window_register(comm, buffer.memory.data(), buffer.memory.size(), &handle_,
                                         kNcclSymmetric));
  if (result != kNcclSuccess) abort();  // at once: others may wait for this member in their calls
  const auto endings = of_all(Ending{result, handle_ != nullptr ? 1 : 0});
  std::string refused, missing;
  for (std::size_t m = 0; m < endings.size(); ++m) {
    if (endings[m].result != kNcclSuccess && refused.empty()) {
      refused = fmt::format("ncclCommWindowRegister on member {}: {}", m,
                            f.get_error_string(endings[m].result));
    } else if (endings[m].registered == 0 && missing.empty()) {
      missing =
          fmt::format("NCCL gives none to member {}, as between GPUs without direct access", m);
    }
  }
  if (refused.empty() && missing.empty()) {
    if (buffer.announced) {
      say(fmt::format("symmetric window over {}: {:.2f} MiB on each of {} members", buffer.group,
                      mib(std::ssize(buffer.memory)), by_host_.size()));
    }
    return true;
  }
  refused.empty() ? close(comm) : abort();
  say(fmt::format("no symmetric window over {}: {}", buffer.group,
                  refused.empty() ? missing : refused));
  return false;
}

void NcclSymmetricWindow::close(NcclComm comm) noexcept {
  const NcclWindow handle = std::exchange(handle_, nullptr);
  if (handle == nullptr || comm == nullptr) return;
  try {
    // What it says has no consequence: memory and communicator go next.
    static_cast<void>(
        nccl_result(job_, comm, job_.functions->comm_window_deregister(comm, handle)));
  } catch (const std::exception&) {  // the job was given up, which others report
  }
}

}  // namespace pleat
