#include "lockstep/launch/process/free_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "lockstep/base/error.h"
#include "lockstep/base/system/file_descriptor.h"

namespace lockstep::launch {

int free_port() {
  const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket.get(), generic, size) != 0 ||
      ::getsockname(socket.get(), generic, &size) != 0) {
    throw Error(ErrorKind::kEnvironment, "no free TCP port on loopback",
                "close programs that use ports");
  }
  return ntohs(address.sin_port);
}

}  // namespace lockstep::launch
