import Foundation
import TestSupport
import Testing

/// Every element type of the engine passes `/v2` unchanged, as binary data and, if possible, as JSON.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct DatatypeTests {
    /// A type by the engine's and the protocol's name, and three elements as JSON and as bytes.
    private struct Sample {
        let engine: String, datatype: String, json: String
        let bytes: Data

        init<T>(_ engine: String, _ datatype: String, _ json: String, _ values: [T]) {
            self.engine = engine
            self.datatype = datatype
            self.json = json
            bytes = values.withUnsafeBytes { Data($0) }
        }
    }

    /// The ends of each range, as far as the engine computes them: 64-bit numbers in 32 bits.
    private static let samples = [
        Sample("boolean", "BOOL", "[true,false,true]", [1, 0, 1] as [UInt8]),
        Sample("u8", "UINT8", "[0,7,255]", [0, 7, 255] as [UInt8]),
        Sample("u16", "UINT16", "[0,7,65535]", [0, 7, .max] as [UInt16]),
        Sample("u32", "UINT32", "[0,7,4294967295]", [0, 7, .max] as [UInt32]),
        Sample("u64", "UINT64", "[0,7,2147483647]", [0, 7, 2_147_483_647] as [UInt64]),
        Sample("i8", "INT8", "[-128,7,127]", [.min, 7, .max] as [Int8]),
        Sample("i16", "INT16", "[-32768,7,32767]", [.min, 7, .max] as [Int16]),
        Sample("i32", "INT32", "[-2147483648,7,2147483647]", [.min, 7, .max] as [Int32]),
        Sample("i64", "INT64", "[-2147483648,7,2147483647]", [-2_147_483_648, 7, 2_147_483_647] as [Int64]),
        // 16-bit floats as their bits: 1, -2, the greatest; they cannot be sent as JSON.
        Sample("f16", "FP16", "[1,-2,65504]", [0x3C00, 0xC000, 0x7BFF] as [UInt16]),
        Sample("bf16", "BF16", "[1,-2,3]", [0x3F80, 0xC000, 0x4040] as [UInt16]),
        Sample("f32", "FP32", "[0.1,-2,3.4028235e+38]", [0.1, -2, .greatestFiniteMagnitude] as [Float]),
        Sample("f64", "FP64", "[0.1,-2,1e+30]", [0.1, -2, 1e30] as [Double]),
    ]

    private func withDaemon(_ body: (Daemon) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-types-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for sample in Self.samples { try IdentityModel.write(sample.engine, named: sample.engine, into: folder) }
        try IdentityModel.write("string", named: "string", into: folder)
        let daemon = try Daemon(["--models", folder.path, "--access-log=false"])
        try body(daemon)
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    private func infer(
        _ daemon: Daemon, _ sample: Sample, rows: Int = 1, binaryIn: Bool, binaryOut: Bool
    ) throws -> Answer {
        let content = Data((0..<rows).flatMap { _ in sample.bytes })
        let data =
            binaryIn
            ? "\"parameters\": {\"binary_data_size\": \(content.count)}"
            : "\"data\": [\(Array(repeating: sample.json, count: rows).joined(separator: ","))]"
        let json =
            "{\"parameters\": {\"binary_data_output\": \(binaryOut)}, \"inputs\": [{\"name\": \"x\", \"shape\": [\(rows), 3], "
            + "\"datatype\": \"\(sample.datatype)\", \(data)}]}"
        return try Curl.run(
            daemon.url + "/v2/models/\(sample.engine)/infer",
            ["--data-binary", "@-"] + (binaryIn ? ["-H", "Inference-Header-Content-Length: \(json.utf8.count)"] : []),
            input: Data(json.utf8) + (binaryIn ? content : Data()))
    }

    @Test("elements of each datatype pass /v2 unchanged as binary data, and as JSON except FP16 and BF16")
    func everyTypeThereAndBack() throws {
        try withDaemon { daemon in
            for sample in Self.samples {
                let metadata = try Curl.run(daemon.url + "/v2/models/\(sample.engine)")
                let port = (metadata.json["inputs"] as? [[String: Any]])?.first
                #expect(port?["datatype"] as? String == sample.datatype, "\(metadata.text)")
                for rows in [1, 2] {
                    let binary = try infer(daemon, sample, rows: rows, binaryIn: true, binaryOut: true)
                    #expect(binary.status == 200, "\(sample.datatype): \(binary.text)")
                    let length = Int(binary.headers["inference-header-content-length"] ?? "") ?? 0
                    #expect(binary.headers["content-type"] == "application/octet-stream")
                    #expect(
                        Data(binary.body.dropFirst(length)) == Data((0..<rows).flatMap { _ in sample.bytes }),
                        "\(sample.datatype)")
                }
                // The other three ways: JSON in, JSON out, both.
                for (binaryIn, binaryOut) in [(true, false), (false, true), (false, false)] {
                    let answer = try infer(daemon, sample, binaryIn: binaryIn, binaryOut: binaryOut)
                    guard sample.datatype != "FP16", sample.datatype != "BF16" else {
                        #expect(answer.status == 400 && answer.code == "invalid_input", "\(answer.text)")
                        #expect(answer.error.contains("\"x\"") && answer.error.contains(sample.datatype))
                        continue
                    }
                    #expect(answer.status == 200, "\(sample.datatype): \(answer.text)")
                    if binaryOut {
                        let length = Int(answer.headers["inference-header-content-length"] ?? "") ?? 0
                        #expect(Data(answer.body.dropFirst(length)) == sample.bytes, "\(sample.datatype)")
                    } else {
                        #expect(answer.text.contains("\"data\":\(sample.json)"), "\(answer.text)")
                    }
                }
            }
        }
    }

    @Test("a /v2 number outside its datatype's range gets 400 with the number; a model of strings is not served")
    func whatDoesNotFitIsRefused() throws {
        try withDaemon { daemon in
            for (engine, datatype, data, words) in [
                ("boolean", "BOOL", "[true,2,1]", ["true or false", "[1]", "2"]),
                ("u8", "UINT8", "[1,-1,3]", ["0 to 255", "[1]", "-1"]), ("u8", "UINT8", "[1,256,3]", ["256"]),
                ("u16", "UINT16", "[1,65536,3]", ["0 to 65535", "65536"]),
                ("u32", "UINT32", "[1,4294967296,3]", ["4294967296"]),
                ("u64", "UINT64", "[1,18446744073709551616,3]", ["18446744073709551615"]),
                ("u64", "UINT64", "[1,2147483648,3]", ["in 32 bits", "2147483648"]),
                ("i8", "INT8", "[1,128,3]", ["-128 to 127", "128"]), ("i8", "INT8", "[1,1.5,3]", ["1.5"]),
                ("i16", "INT16", "[1,-32769,3]", ["-32769"]), ("i32", "INT32", "[1,2147483648,3]", ["2147483648"]),
                ("i64", "INT64", "[1,2147483648,3]", ["in 32 bits", "2147483648"]),
                ("i64", "INT64", "[1,9223372036854775808,3]", ["9223372036854775808"]),
                ("f32", "FP32", "[1,3.5e38,3]", ["32-bit float", "3.5e38"]),
                ("f64", "FP64", "[1,1e39,3]", ["in 32 bits", "1e+39"]), ("f64", "FP64", "[1,1e309,3]", ["1e309"]),
            ] {
                let answer = try Curl.run(
                    daemon.url + "/v2/models/\(engine)/infer", ["--data-binary", "@-"],
                    input: Data(
                        "{\"inputs\": [{\"name\": \"x\", \"shape\": [1, 3], \"datatype\": \"\(datatype)\", \"data\": \(data)}]}"
                            .utf8))
                #expect(answer.status == 400 && answer.code == "invalid_input", "\(datatype) \(data): \(answer.text)")
                for word in ["\"x\""] + words { #expect(answer.error.contains(word), "\(word): \(answer.error)") }
            }
            let strings = try Curl.run(daemon.url + "/v1/models/string")
            #expect((strings.json["reason"] as? String)?.contains("holds strings") == true, "\(strings.text)")
        }
    }
}
