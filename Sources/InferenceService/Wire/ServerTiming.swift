internal import Inference
internal import JSON

/// The `Server-Timing` field of an answer: the stages in milliseconds (W3C, Server Timing).
enum ServerTiming {
    static func text(_ times: StageTimes, recv: UInt64, encode: UInt64) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(112)
        func stage(_ name: StaticString, _ nanoseconds: UInt64) {
            bytes.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
            JSONWriter.appendMilliseconds(nanoseconds, to: &bytes)
        }
        stage("recv;dur=", recv)
        stage(", queue;dur=", times.queue)
        stage(", decode;dur=", times.decode)
        stage(", infer;dur=", times.inference)
        if let threads = times.loneThreads { bytes.append(contentsOf: ";desc=\"\(threads) threads\"".utf8) }
        if times.postprocess > 0 { stage(", postprocess;dur=", times.postprocess) }
        stage(", encode;dur=", encode)
        return String(decoding: bytes, as: UTF8.self)
    }
}
