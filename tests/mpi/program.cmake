# SPDX-License-Identifier: MIT
# The program vkflash_mpi: its files, its errors, and a device that is lost on one rank.
#
#   LAUNCHER   words that start ranks          PREFIX    words that start each rank
#   PROGRAM    vkflash_mpi                     ALONE     vkflash
#   COMPARE    program that compares files     SAMPLES   folder with q.npy, k.npy and v.npy
#   FOLDER     for the files of the test       FAULTY    a loader of which one call fails; empty = there is none
#   REAL       the loader behind it
file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}")
# Kernels that the software driver compiles quickly.
set(quick --quirk rolled-scalar-loops)
set(inputs --q "${SAMPLES}/q.npy" --k "${SAMPLES}/k.npy" --v "${SAMPLES}/v.npy" --path scalar ${quick})

set(limit 300)
# expect(<0 or 1, whether it fails> <text of its output> <word>...)
function(expect fails text)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${FOLDER}" TIMEOUT ${limit}
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(failed 0)
  if(NOT status EQUAL 0)
    set(failed 1)
  endif()
  string(FIND "${output}" "${text}" at)
  if(NOT failed EQUAL fails OR at EQUAL -1)
    message(FATAL_ERROR "status ${status}, expected the text \"${text}\" of ${ARGN}:\n${output}")
  endif()
endfunction()

function(expect_no_file pattern)
  file(GLOB found "${FOLDER}/${pattern}")
  if(found)
    message(FATAL_ERROR "there are files: ${found}")
  endif()
endfunction()

set(ranks ${LAUNCHER} -n 2 ${PREFIX} "${PROGRAM}")
expect(0 "wrote" ${PREFIX} "${ALONE}" run ${inputs} --causal -o one.npy --lse one_lse.npy)
expect(0 "wrote" ${ranks} run ${inputs} --causal -o two.npy --lse two_lse.npy)
expect(0 "equal" ${PREFIX} "${COMPARE}" --compare one.npy two.npy)
expect(0 "equal" ${PREFIX} "${COMPARE}" --compare one_lse.npy two_lse.npy)
expect(0 "wrote" ${PREFIX} "${ALONE}" backward ${inputs} --do one.npy --dq one_dq.npy --dk one_dk.npy)
expect(0 "plan" ${ranks} backward ${inputs} --do one.npy --dq two_dq.npy --dk two_dk.npy --distribution zigzag)
expect(0 "equal" ${PREFIX} "${COMPARE}" --compare one_dq.npy two_dq.npy)
expect(0 "equal" ${PREFIX} "${COMPARE}" --compare one_dk.npy two_dk.npy)
expect(0 "right" ${ranks} verify --rows 40 --dim 16 --heads 4 --kv-heads 2 --path scalar ${quick} --backward)

foreach(deal contiguous striped)
  expect(0 "right" ${ranks} verify --rows 3 --keys 41 --dim 16 --heads 4 --kv-heads 2 --path scalar ${quick}
    --deal ${deal})
endforeach()
expect(0 "4096" ${PREFIX} "${PROGRAM}" model --causal)

# A bench says what it measured.
set(bench ${ranks} bench ${quick} --runs 1 --json)
expect(0 "share" ${bench} rows.json --rows 64 --dim 16 --heads 2 --type f32 --causal --path scalar)
expect(0 "causal 128k" ${bench} standard.json --divide 4096 --only "causal 128k, with backward")
foreach(file rows standard)
  file(READ "${FOLDER}/${file}.json" report)
  foreach(member share modelShare memoryOverPart teraflopsPerRank link)
    string(JSON value GET "${report}" results 0 ${member})
  endforeach()
endforeach()
expect(0 "decode 1m" ${bench} decode.json --divide 16384 --only "decode 1m")
file(READ "${FOLDER}/decode.json" report)
string(JSON value GET "${report}" results 0 timeOverOneGpu)
expect(1 "is part of no name" ${bench} none.json --only other)

# A truncated file is found before the work, and nothing is written.
execute_process(COMMAND head -c 300 "${SAMPLES}/k.npy" OUTPUT_FILE "${FOLDER}/cut.npy")
expect(1 "cut.npy: is truncated" ${ranks} run --q "${SAMPLES}/q.npy" --k cut.npy --v "${SAMPLES}/v.npy" -o none.npy)
expect(1 "takes one of auto, contiguous, zigzag" ${ranks} run ${inputs} -o none.npy --distribution other)
expect_no_file("none.npy")
expect_no_file(".none*")

# Ranks with different flags.
expect(1 "the ranks differ: rank 0 has scale=0, rank 1 has scale=0.5" ${LAUNCHER}
  -n 1 ${PREFIX} "${PROGRAM}" run ${inputs} -o none.npy : -n 1 ${PREFIX} "${PROGRAM}" run ${inputs} -o none.npy --scale 0.5)

# A rank fails before it meets the others.
expect(1 "rank 1: an error of this rank alone" ${LAUNCHER} -n 1 ${PREFIX} "${PROGRAM}" run ${inputs} -o none.npy :
  -n 1 ${PREFIX} "${PROGRAM}" run ${inputs} -o none.npy --tuning absent.txt)
expect_no_file("none.npy")

# A rank loses its device, or its process is killed: while it gets its tensors, and while blocks travel. The others end
# within ten seconds besides the time of the call, name the rank, and leave no file.
if(FAULTY)
  string(TIMESTAMP start "%s")
  expect(0 "plan" ${ranks} backward ${inputs} --do one.npy --dq whole.npy --method ring)
  string(TIMESTAMP end "%s")
  math(EXPR limit "2 * (${end} - ${start}) + 10")
  set(run run ${inputs} -o none.npy)
  set(backward backward ${inputs} --do one.npy --dq none.npy)
  # expect_end(<rank that fails> <number of vkQueueSubmit> <result of the call> <word>...)
  function(expect_end rank call result)
    set(good ${PREFIX} "${PROGRAM}" ${ARGN})
    # A shell around the process keeps the launcher from ending the other ranks.
    set(bad sh -c "\"$@\" || sleep 20" sh ${CMAKE_COMMAND} -E env "LD_PRELOAD=${FAULTY}" "VKFLASH_FAULTY_REAL=${REAL}"
      VKFLASH_FAULTY_FUNCTION=vkQueueSubmit VKFLASH_FAULTY_CALL=${call} VKFLASH_FAULTY_RESULT=${result} ${good})
    if(rank EQUAL 0)
      expect(1 "rank 0: " ${LAUNCHER} -n 1 ${bad} : -n 1 ${good})
    else()
      expect(1 "rank 1: " ${LAUNCHER} -n 1 ${good} : -n 1 ${bad})
    endif()
    expect_no_file("none.npy")
    expect_no_file(".none*")
  endfunction()
  foreach(result -4 kill)
    expect_end(1 1 ${result} ${run} --method ring)
    expect_end(1 4 ${result} ${run} --method ring)
    expect_end(1 4 ${result} ${run} --method ring --transport messages)
    expect_end(0 4 ${result} ${run} --method heads)
    expect_end(1 18 ${result} ${backward} --method ring)
  endforeach()
  # While it downloads its results, which the others do not wait for.
  expect_end(1 8 -4 ${run} --method ring)
endif()
expect_no_file("none.npy")
expect_no_file(".none*")
