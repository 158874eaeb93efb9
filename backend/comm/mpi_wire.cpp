// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/mpi_wire.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <limits>
#include <list>
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

}  // namespace pleat
