"""Sums of traces: the fold, call trees and the blobs they are stored in."""
