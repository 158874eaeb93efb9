// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a process of the job may send over the mesh, with right tags: any kind, ranks, label, size
// and payload. The other side delivers it or gives the peer up; it ends in time either way.
#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>

#include "backend/comm/mesh.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace pleat::fuzz {

const Form kForm = Form::bytes;

void run(std::string_view input) {
  constexpr std::size_t kHeader = 40;
  static const JobSecret secret("the secret of the job that is tried");
  Socket listener = listen_at({"127.0.0.1", 0});
  const Address at = listener.local();
  const Roster roster{7, {{0, 2, at}, {2, 2, {"127.0.0.1", 1}}}};
  MessageHub hub(Rank{0}, 2);
  std::unique_ptr<TcpMesh> mesh;
  std::jthread joins([&] {
    mesh = std::make_unique<TcpMesh>(roster, 0, std::move(listener), secret, hub,
                                  MeshTimes{.beat_s = 5, .meet_s = 10});
  });
  Hello hello;
  hello.purpose = Purpose::mesh;
  hello.from = 1;
  hello.epoch = roster.epoch;
  Greeted peer = call(at, secret, hello, after(10));
  joins.join();
  try {
    while (input.size() > kHeader) {
      std::array<std::byte, kHeader> header{};
      std::memcpy(header.data(), input.data(), kHeader);
      // Most say the size that follows, the others any size.
      std::uint64_t size = std::min<std::size_t>(static_cast<unsigned char>(input[kHeader - 1]),
                                                 input.size() - kHeader);
      const std::string_view payload = input.substr(kHeader, size);
      const bool honest = (std::to_integer<int>(header[12]) & 1) == 0;
      if (honest) std::memcpy(header.data() + 32, &size, sizeof size);
      std::memset(header.data() + 12, 0, 4);
      const Tags tags = peer.session.sends.make(header, std::as_bytes(std::span(payload)));
      peer.socket.send_exact(header, after(1));
      peer.socket.send_exact(std::as_bytes(std::span(&tags, 1)), after(1));
      peer.socket.send_exact(std::as_bytes(std::span(payload)), after(1));
      input.remove_prefix(kHeader + size);
    }
  } catch (const std::runtime_error&) {  // given up
  }
  peer.socket.close();
  mesh.reset();  // reads what has come, and ends when it sees that the peer is gone
}

}  // namespace pleat::fuzz
