#pragma once

/// Data-parallel training for LibTorch programs: one process per device, the same program on all.
///
///   auto job = lockstep::join(argc, argv);
///   auto net = std::make_shared<Net>();
///   net->to(job.device());
///   lockstep::DataParallel ddp(net, job);
///   torch::optim::SGD optimizer(net->parameters(), 0.1);
///   ...
///   optimizer.zero_grad();
///   loss(ddp(x), y).backward();       // gradients are averaged when this returns
///   optimizer.step();

#include "lockstep/checkpoint.h"
#include "lockstep/data_parallel.h"
#include "lockstep/job.h"
#include "lockstep/optim.h"
#include "lockstep/sampler.h"
#include "lockstep/sharded_optimizer.h"
#include "lockstep/sync_batch_norm.h"
#include "lockstep/version.h"
