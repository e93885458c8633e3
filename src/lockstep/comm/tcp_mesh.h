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

  /// Sends and receives all parcels, by rank; one's own is ignored. Small ones travel all at once;
  /// large ones in rounds, in each of which every rank sends to one other and receives from one
  /// other, so that no two flows share a link. Every rank of the group calls it with fitting sizes.
  /// Blocks; throws kPeer naming the rank when one is lost or nothing moves for the timeout.
  void exchange(const std::vector<Parcel>& parcels, const char* what);

 private:
  void connect();
  void accept(Socket listener);
  void move_all(std::vector<Parcel> left, const char* what);
  bool move(std::size_t peer, Parcel& parcel, const char* what);
  std::string names(const std::vector<Parcel>& left) const;

  Options options_;
  Membership& membership_;
  std::vector<Socket> sockets_;  ///< by rank of the group; one's own is empty
};

}  // namespace lockstep::comm
