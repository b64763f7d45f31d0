# Flags, options and the one function every component is declared with.
include(GNUInstallDirs)
include(CheckCCompilerFlag)

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

option(QUARRY_WERROR "Warnings are errors" OFF)
option(QUARRY_FUZZ "Build the fuzzers (clang)" OFF)
option(QUARRY_TESTS "Build the tests" ON)
option(QUARRY_PYTHON "Build the Python module, if Python's headers are there" ON)
option(QUARRY_PYTHON_REQUIRED "Fail without Python's headers" OFF)
option(QUARRY_BENCH "Build the benchmarks and their peers" OFF)
set(QUARRY_SANITIZE "" CACHE STRING "address,undefined | thread | empty")
option(QUARRY_COVERAGE "Instrument for gcov" OFF)
option(QUARRY_SLOW_ASSERTS "Walk structures in assertions" OFF)

find_program(QUARRY_CCACHE ccache)
if(QUARRY_CCACHE)
    set(CMAKE_C_COMPILER_LAUNCHER ${QUARRY_CCACHE})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${QUARRY_CCACHE})
endif()

add_compile_definitions(_POSIX_C_SOURCE=200809L)
add_compile_options(-fno-omit-frame-pointer -fstack-protector-strong
                    -fvisibility=hidden)
add_compile_options($<$<COMPILE_LANGUAGE:C>:-fno-common>)
include_directories(${CMAKE_SOURCE_DIR})

# Hardening: addresses of library functions are resolved at the start and are
# read-only from then on (RELRO, BIND_NOW), calls of the C library check buffers
# whose size is known (FORTIFY), and indirect jumps end where functions begin (CET).
add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
if(NOT QUARRY_SANITIZE AND NOT QUARRY_FUZZ AND
   "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${build_type}}" MATCHES "-O[123s]")
    add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
    check_c_compiler_flag(-fcf-protection=full QUARRY_HAS_CF_PROTECTION)
    if(QUARRY_HAS_CF_PROTECTION)
        add_compile_options(-fcf-protection=full)
    endif()
endif()

if(QUARRY_SANITIZE)
    add_compile_options(-fsanitize=${QUARRY_SANITIZE} -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${QUARRY_SANITIZE})
    # Hundreds of test programs, each with most of the libraries in it.
    find_program(QUARRY_MOLD mold)
    if(QUARRY_MOLD)
        add_link_options(-fuse-ld=mold)
    else()
        message(STATUS "Linking without mold (package mold): it takes longer")
    endif()
    # The sanitizers' tables of globals and places are 17 MB of addresses in
    # `quarry`. Relocating them took a third of the time of a short command.
    if(QUARRY_SANITIZE MATCHES "address")
        set(CMAKE_EXE_LINKER_FLAGS "${CMAKE_EXE_LINKER_FLAGS} -no-pie")
    endif()
endif()
if(QUARRY_COVERAGE)
    add_compile_options(--coverage)
    add_link_options(--coverage)
endif()
if(QUARRY_SLOW_ASSERTS)
    add_compile_definitions(QUARRY_SLOW_ASSERTS)
endif()
if(QUARRY_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()

set(QUARRY_WARNINGS
    -Wall -Wextra -Wpedantic -Wshadow -Wdouble-promotion -Wstrict-prototypes
    -Wmissing-prototypes -Wmissing-declarations -Wold-style-definition
    -Wredundant-decls -Wnested-externs -Wvla -Wundef -Wpointer-arith
    -Wcast-align -Wcast-qual -Wwrite-strings -Wformat=2 -Wswitch-enum
    -Wfloat-equal -Wdate-time -Winit-self -Wunused-result
    -Wframe-larger-than=16384)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    list(APPEND QUARRY_WARNINGS
         -Wimplicit-fallthrough=5 -Wlogical-op -Wduplicated-cond
         -Wduplicated-branches -Wtrampolines -Wsuggest-attribute=noreturn
         -Wsuggest-attribute=format -Wformat-overflow=2 -Wformat-truncation=2
         -Wstringop-overflow=4 -Walloc-zero)
    if(NOT QUARRY_SANITIZE AND NOT QUARRY_COVERAGE)
        list(APPEND QUARRY_WARNINGS -Wstack-usage=16384)
    endif()
    if(QUARRY_COVERAGE)
        # Built without optimisation, which these need to judge values.
        list(APPEND QUARRY_WARNINGS -Wno-maybe-uninitialized
             -Wno-format-truncation -Wno-format-overflow -Wno-restrict)
    endif()
else()
    list(APPEND QUARRY_WARNINGS
         -Wimplicit-fallthrough -Wthread-safety -Wcomma -Wassign-enum
         -Wconditional-uninitialized -Wunreachable-code -Wloop-analysis
         -Wnewline-eof)
endif()
set(QUARRY_WARNINGS_STRICT ${QUARRY_WARNINGS} -Wconversion -Wsign-conversion)
if(NOT CMAKE_C_COMPILER_ID STREQUAL "GNU")
    list(APPEND QUARRY_WARNINGS_STRICT -Wshorten-64-to-32)
endif()
if(QUARRY_WERROR)
    list(APPEND QUARRY_WARNINGS -Werror)
    list(APPEND QUARRY_WARNINGS_STRICT -Werror)
endif()

# quarry_library(NAME [DIRS dir…] LINK lib…): a static library of all .c and .cc
# files in the directories given (default: this one), below this list file.
function(quarry_library name)
    cmake_parse_arguments(ARG "" "" "DIRS;LINK" ${ARGN})
    if(NOT ARG_DIRS)
        set(ARG_DIRS .)
    endif()
    set(sources)
    foreach(dir ${ARG_DIRS})
        file(GLOB found CONFIGURE_DEPENDS
             ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/*.c
             ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/*.cc)
        list(APPEND sources ${found})
    endforeach()
    if(NOT sources)
        add_library(${name} INTERFACE)
        target_link_libraries(${name} INTERFACE ${ARG_LINK})
        return()
    endif()
    add_library(${name} STATIC ${sources})
    target_compile_options(${name} PRIVATE
        "$<$<COMPILE_LANGUAGE:C>:${QUARRY_WARNINGS_STRICT}>"
        "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic>")
    target_link_libraries(${name} PUBLIC ${ARG_LINK})
endfunction()
