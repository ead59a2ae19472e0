#!/bin/sh
# Builds a Go program for the tests, once for each set of its sources, in the user's cache; prints where it is.
#
#   sh .ci/go.sh FOLDER PACKAGE      FOLDER has go.mod and go.sum; PACKAGE is what to build, . for the folder itself
set -eu
folder=$1 package=$2
cache=${XDG_CACHE_HOME:-$HOME/.cache}/otel-chloe
key=$(cd "$folder" && { cat go.mod go.sum; [ "$package" = . ] && cat ./*.go; go version; } | sha256sum | cut -c1-16)
program=$cache/$(basename "$folder")-$key
if [ ! -x "$program" ]; then
    mkdir -p "$cache"
    # A name of its own, and then moved: two builds at once do not spoil each other, and half a program is none.
    (cd "$folder" && GOFLAGS=-mod=readonly go build -trimpath -ldflags='-s -w' -o "$program.$$" "$package")
    mv "$program.$$" "$program"
fi
echo "$program"
