// Training that survives the death of a rank: it is killed in the third epoch, all ranks are
// started again, and the run goes on from the last checkpoint.
//   LOCKSTEP_WORKERS=2 LOCKSTEP_RESTARTS=1 ./resume FILE
#include <lockstep/lockstep.h>

#include <csignal>

int main(int argc, char** argv) {
  auto job = lockstep::join(argc, argv);
  const std::string path = argc > 1 ? argv[1] : "resume.pt";
  torch::manual_seed(1);
  torch::nn::Sequential net(torch::nn::Linear(1, 32), torch::nn::Tanh(), torch::nn::Linear(32, 1));
  net->to(job.device());
  lockstep::DataParallel ddp(net, job);
  torch::optim::Adam optimizer(net->parameters(), 1e-2);

  int epoch = 1;
  lockstep::Checkpoint checkpoint(job);
  checkpoint.add("net", net).add("optimizer", optimizer).add("epoch", epoch);
  const bool resumed = checkpoint.load(path);
  if (resumed) job.print("resumed with epoch " + std::to_string(epoch));

  double loss = 0;
  for (; epoch <= 5;) {
    torch::manual_seed(1000 * epoch + job.rank());  // the data of this epoch and rank
    for (int step = 0; step < 100; ++step) {
      if (!resumed && epoch == 3 && step == 50 && job.rank() == 1) std::raise(SIGKILL);
      const auto x = torch::rand({32, 1}, job.device()) * 2 - 1;
      optimizer.zero_grad();
      const auto error = torch::mse_loss(ddp(x), torch::sin(3 * x));
      error.backward();
      job.step(optimizer);
      loss = error.item<double>();
    }
    job.print("epoch " + std::to_string(epoch) + " done");
    ++epoch;
    checkpoint.save(path);
  }
  job.print(job.mean(loss) < 0.01 ? "loss below 0.01" : "loss still high");
}
