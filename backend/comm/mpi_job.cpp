// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/mpi_job.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>
#include <list>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "backend/comm/message_communicator.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

struct Header {
  std::int32_t from = 0, to = 0;
  Label label;
};
static_assert(kMessageBytes + sizeof(Header) <= std::numeric_limits<int>::max());  // MPI's counts

void check(int error, const char* what) {
  if (error == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(error, text, &length);
  throw std::runtime_error(fmt::format("{}: {}", what, text));
}

class MpiWire final : public Wire {
 public:
  MpiWire(MessageHub& hub, const Roster& roster, TcpMesh& mesh) : hub_(hub), mesh_(mesh) {
    for (std::size_t p = 0; p < roster.processes.size(); ++p) {
      for (int r = 0; r < roster.processes[p].ranks; ++r) {
        process_of_.push_back(static_cast<int>(p));
      }
    }
    incoming_.resize(roster.processes.size());
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }

  ~MpiWire() override {
    if (hub_.aborted()) return;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!outgoing_.empty() && std::chrono::steady_clock::now() < deadline) {
      if (!poll()) std::this_thread::yield();
    }
    MPI_Comm_free(&comm_);
    MPI_Finalize();
  }

  void send(const Envelope& e, std::span<const std::byte> data) override {
    const Header header{e.from.value, e.to.value, e.label};
    Outgoing out;
    out.bytes = make_message(sizeof header + data.size());
    std::memcpy(out.bytes.data.get(), &header, sizeof header);
    if (!data.empty()) std::memcpy(out.bytes.data.get() + sizeof header, data.data(), data.size());
    const std::lock_guard lock(mutex_);
    check(MPI_Isend(out.bytes.data.get(), static_cast<int>(out.bytes.size), MPI_BYTE,
                    process_of_.at(e.to.index()), 0, comm_, &out.request),
          "MPI_Isend");
    outgoing_.push_back(std::move(out));
    send_on();
  }

  void send_abort(const std::string& message) override { mesh_.send_abort(message); }
  [[nodiscard]] bool needs_polling() const override { return true; }

  bool poll() override {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return false;  // another rank of this process does it
    const bool sent = send_on(), matched = match(), came = receive();
    return sent || matched || came;
  }

 private:
  struct Outgoing {
    Message bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Incoming {
    Header header;
    Message payload;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  // Forgets what has left.
  bool send_on() {
    bool any = false;
    for (auto out = outgoing_.begin(); out != outgoing_.end();) {
      int done = 0;
      check(MPI_Test(&out->request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      any = any || done != 0;
      out = done != 0 ? outgoing_.erase(out) : std::next(out);
    }
    return any;
  }

  // Starts to receive the next message that is on its way, whoever sent it: header and payload go
  // to their places in one receive.
  bool match() {
    int there = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    check(MPI_Improbe(MPI_ANY_SOURCE, 0, comm_, &there, &message, &status), "MPI_Improbe");
    if (there == 0) return false;
    int bytes = 0;
    check(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
    PLEAT_ASSERT(bytes >= static_cast<int>(sizeof(Header)));
    auto& queue = incoming_[static_cast<std::size_t>(status.MPI_SOURCE)];
    Incoming& in = queue.emplace_back();
    in.payload = make_message(static_cast<std::size_t>(bytes) - sizeof(Header));
    int lengths[2] = {static_cast<int>(sizeof(Header)), static_cast<int>(in.payload.size)};
    MPI_Aint places[2];
    MPI_Get_address(&in.header, &places[0]);
    MPI_Get_address(in.payload.data.get(), &places[1]);
    MPI_Datatype both;
    check(MPI_Type_create_hindexed(2, lengths, places, MPI_BYTE, &both),
          "MPI_Type_create_hindexed");
    check(MPI_Type_commit(&both), "MPI_Type_commit");
    check(MPI_Imrecv(MPI_BOTTOM, 1, both, &message, &in.request), "MPI_Imrecv");
    MPI_Type_free(&both);  // when the receive is done
    return true;
  }

  // Delivers in the order of each sender.
  bool receive() {
    bool any = false;
    for (std::list<Incoming>& queue : incoming_) {
      while (!queue.empty()) {
        int done = 0;
        check(MPI_Test(&queue.front().request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done == 0) break;
        Incoming& in = queue.front();
        hub_.deliver({Rank{in.header.from}, Rank{in.header.to}, in.header.label},
                     std::move(in.payload));
        queue.pop_front();
        any = true;
      }
    }
    return any;
  }

  MessageHub& hub_;
  TcpMesh& mesh_;
  std::vector<int> process_of_;  // by rank
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::mutex mutex_;  // MPI is asked for MPI_THREAD_SERIALIZED
  std::list<Outgoing> outgoing_;
  std::vector<std::list<Incoming>> incoming_;  // by process; a list keeps the headers in place
};

}  // namespace

std::unique_ptr<Wire> make_mpi_wire(MessageHub& hub, const Roster& roster, TcpMesh& mesh) {
  return std::make_unique<MpiWire>(hub, roster, mesh);
}

// MPI tells the processes where process 0 listens; there they meet as over TCP, because MPI has no
// way of saying that one of them is gone.

namespace {

using Name = std::array<char, 256>;

// What has to be known before MPI_Init; a person's own setting stays.
void set_up_open_mpi() {
  // More ranks than cores spin in each other's way: an allreduce of 4 KB takes 50 ms, not 0.1.
  setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
  // Reading another process's memory is forbidden in most containers, and fails in the middle.
  setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
}

Name own_name() {
  Name name{};
  const std::string host = host_name();
  std::copy_n(host.begin(), std::min(host.size(), name.size() - 1), name.begin());
  return name;
}

// This host's IPv4 addresses that others may reach, best guess first.
std::string reachable_addresses() {
  std::string all;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return all;
  for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN] = {};
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr, text,
              sizeof text);
    if (std::string(text).starts_with("127.")) continue;
    all += std::string(text) + " ";
  }
  freeifaddrs(list);
  return all;
}

// Process 0's host and addresses, told to all.
std::vector<Address> tell_addresses(int process, const Socket& listener, bool one_host) {
  std::array<char, 4096> told{};
  if (process == 0) {
    const std::string hosts = one_host ? "127.0.0.1" : reachable_addresses() + own_name().data();
    const std::string text = fmt::format("{} {}", listener.local().port, hosts);
    std::copy_n(text.begin(), std::min(text.size(), told.size() - 1), told.begin());
  }
  MPI_Bcast(told.data(), static_cast<int>(told.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  std::istringstream in(told.data());
  std::vector<Address> all;
  int port = 0;
  in >> port;
  for (std::string host; in >> host;) all.push_back({host, port});
  return all;
}

// Made by process 0 for this job. MPI's own connections are as trusted as its launcher makes them.
JobSecret tell_secret(int process) {
  std::array<char, 65> told{};
  if (process == 0) {
    const std::string text = new_secret_text();
    std::copy_n(text.begin(), std::min(text.size(), told.size() - 1), told.begin());
  }
  MPI_Bcast(told.data(), static_cast<int>(told.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  return JobSecret(told.data());
}

}  // namespace

bool has_mpi() { return true; }

JobPart join_over_mpi(const MpiMeeting& m, MeshTimes times) {
  set_up_open_mpi();
  int provided = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS ||
      provided < MPI_THREAD_SERIALIZED) {
    throw std::runtime_error("this MPI does not let threads call it");
  }
  Meeting meeting;
  MPI_Comm_rank(MPI_COMM_WORLD, &meeting.process);
  MPI_Comm_size(MPI_COMM_WORLD, &meeting.processes);
  if (m.processes >= 0 && (m.processes != meeting.processes || m.process != meeting.process)) {
    throw std::runtime_error(fmt::format("MPI says process {} of {}, the launcher said {} of {}",
                                         meeting.process, meeting.processes, m.process,
                                         m.processes));
  }
  const Name mine = own_name();
  std::vector<Name> names(static_cast<std::size_t>(meeting.processes));
  MPI_Allgather(mine.data(), static_cast<int>(mine.size()), MPI_CHAR, names.data(),
                static_cast<int>(mine.size()), MPI_CHAR, MPI_COMM_WORLD);
  const bool one_host =
      std::all_of(names.begin(), names.end(), [&](const Name& n) { return n == names.front(); });
  if (meeting.process == 0) meeting.listener = listen_at({one_host ? "127.0.0.1" : "0.0.0.0", 0});
  meeting.at = tell_addresses(meeting.process, meeting.listener, one_host);
  meeting.secret = tell_secret(meeting.process);
  meeting.ranks = m.ranks;
  meeting.world = m.world;
  meeting.fingerprint = m.fingerprint;
  meeting.timeout_s = m.timeout_s;
  return JobPart::over_wire(std::move(meeting), make_mpi_wire, times);
}

}  // namespace pleat
