// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a process of the job may send over the mesh, with right tags: any kind, ranks, label, size
// and payload, cut anywhere. It is delivered, or the sender is given up. Inputs are those of
// mesh_tcp, which sends them through sockets to a whole mesh.
#include <algorithm>
#include <cstring>

#include "backend/comm/mesh_message.hpp"
#include "backend/comm/message_hub.hpp"
#include "backend/comm/message_reader.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace pleat::fuzz {

const Form kForm = Form::bytes;

namespace {

constexpr int kRanks = 2;
constexpr std::size_t kHeader = sizeof(MeshHeader);
static_assert(kHeader == 40);

// As TcpMesh takes it from a process with the ranks 2 and 3, the job's ranks 0 and 1 living here.
class Receiver {
 public:
  explicit Receiver(const MessageTags& tags) : reader_(tags) {}

  // False: the sender is given up.
  bool take(std::span<const std::byte> bytes, std::size_t at_most) {
    while (!bytes.empty()) {
      const std::span<std::byte> room = reader_.room();
      require(!room.empty(), "no room for what comes");
      const std::size_t n = std::min({bytes.size(), room.size(), at_most});
      std::copy_n(bytes.begin(), n, room.begin());
      bytes = bytes.subspan(n);
      const Arrived arrived = reader_.took(n);
      if (arrived == Arrived::broken) return false;
      if (arrived == Arrived::message && !act()) return false;
    }
    return true;
  }

 private:
  bool act() {
    auto news = read_news(reader_.header(), std::move(reader_.payload()), sender_, hub_.first(),
                          hub_.count());
    if (!news) return false;
    if (auto* m = std::get_if<FromRank>(&*news)) {
      const Envelope e = m->envelope;
      const std::size_t size = m->message.size;
      hub_.deliver(e, std::move(m->message));
      if (!hub_.aborted()) require(hub_.take(e).size == size, "another message than was sent");
    } else if (const auto* a = std::get_if<JobAborted>(&*news)) {
      hub_.abort(a->message, true);
      require(hub_.aborted(), "a job that goes on");
    } else if (const auto* told = std::get_if<RanksAreAt>(&*news)) {
      const auto again = read_lines(to_lines(told->where));
      require(again.size() == told->where.size(), "places that are not read as written");
    }
    return true;
  }

  MessageReader<MeshHeader> reader_;
  MessageHub hub_{Rank{0}, kRanks};
  RosterEntry sender_{2, kRanks, {}};
};

}  // namespace

void run(std::string_view input) {
  static const SecretKey key = JobSecret("the secret of the job that is tried").key();
  MessageTags sends{key};
  Receiver receiver{MessageTags(key)};
  while (input.size() > kHeader) {
    std::array<std::byte, kHeader> header{};
    std::memcpy(header.data(), input.data(), kHeader);
    // Most say the size that follows, the others any size.
    std::uint64_t size = std::min<std::size_t>(static_cast<unsigned char>(input[kHeader - 1]),
                                               input.size() - kHeader);
    const std::string_view payload = input.substr(kHeader, size);
    const bool honest = (std::to_integer<int>(header[12]) & 1) == 0;
    const std::size_t at_most = 1 + std::to_integer<std::size_t>(header[13]);
    if (honest) std::memcpy(header.data() + 32, &size, sizeof size);
    std::memset(header.data() + 12, 0, 4);
    const Tags tags = sends.make(header, std::as_bytes(std::span(payload)));
    if (!receiver.take(header, at_most)) return;
    if (!receiver.take(std::as_bytes(std::span(&tags, 1)), at_most)) return;
    if (!receiver.take(std::as_bytes(std::span(payload)), at_most)) return;
    input.remove_prefix(kHeader + size);
  }
}

}  // namespace pleat::fuzz
