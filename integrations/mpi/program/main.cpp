// SPDX-License-Identifier: MIT
//
// The program `vkflash_mpi`: sub-commands of `vkflash` over the ranks of MPI. Rank 0 prints. An error that all ranks
// have is printed once.
#include <chrono>
#include <thread>

#include <mpi.h>

#include "commands.hpp"
#include "session.hpp"

namespace {

int run(int argc, char** argv) {
    using namespace vkf;
    const tools::ProgramTitle title = {"vkflash_mpi", "Attention over the ranks of MPI.",
                                       "mpirun -n 4 vkflash_mpi run --q q.npy --k k.npy --v v.npy -o o.npy --causal"};
    mpi::program::silenceOtherRanks();
    return tools::runProgram(argc, argv, title,
                             {mpi::program::addRunCommand, mpi::program::addBackwardCommand,
                              mpi::program::addVerifyCommand, mpi::program::addBenchCommand,
                              mpi::program::addModelCommand});
}

} // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int status = run(argc, argv);
    if (vkf::mpi::program::closeRanks()) {
        // The other ranks print what they know.
        std::this_thread::sleep_for(std::chrono::seconds(1));
        MPI_Abort(MPI_COMM_WORLD, status);
    }
    MPI_Finalize();
    return status;
}
