#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/comm/membership.h"

namespace lockstep::comm {

/// A connection between every two ranks of a group, each of which both ends have proved to belong
/// to the run. It listens only while the group connects.
class TcpMesh {
 public:
  struct Options {
    int rank = 0;  ///< within the group
    int size = 1;
    std::vector<int> world_ranks;  ///< of the group's ranks, for messages
    std::string group = "all";     ///< keeps groups of one run apart
    std::string address;           ///< to listen on and to be reached at
    JobSecret secret{};
    Seconds timeout{60};
  };

  /// Blocks until all are connected; throws kPeer naming who is missing. `membership` outlives it.
  TcpMesh(Options options, Membership& membership);

  /// What goes to and comes from one rank in one exchange.
  struct Parcel {
    std::span<const std::byte> out;
    std::span<std::byte> in;
  };

  /// Sends and receives all parcels, by rank, all at once; one's own is ignored. Every rank of the
  /// group calls it with fitting sizes, some or all of which may be 0. Blocks; throws kPeer naming
  /// the rank when one is lost or nothing moves for the timeout.
  void exchange(std::vector<Parcel> parcels, const char* what);

  /// The same in rounds, in each of which every rank sends to one other and receives from one
  /// other. A rank begins only when the other one has all of its round before: what is handed to
  /// the kernel is not yet there, and flows that share a link slow each other down for longer than
  /// they share it. For exchanges of all with all in which the use of the links counts for more
  /// than two more messages a round.
  void exchange_in_rounds(const std::vector<Parcel>& parcels, const char* what);

  /// The connections themselves, by rank, one's own empty: for a library with a protocol of its
  /// own.
  std::vector<Socket> take_sockets() && { return std::move(sockets_); }

 private:
  void connect();
  void accept(Socket listener);
  void meet(std::size_t to, std::size_t from, const char* what);
  bool move(std::size_t peer, Parcel& parcel, const char* what);
  std::string names(const std::vector<Parcel>& left) const;

  Options options_;
  Membership& membership_;
  std::vector<Socket> sockets_;  ///< by rank of the group; one's own is empty
};

}  // namespace lockstep::comm
