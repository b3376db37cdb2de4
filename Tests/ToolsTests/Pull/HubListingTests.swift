import Foundation
import SystemSupport
import TestSupport
import Testing
import Tools

/// The hub's list of files, and the digests that it states.
@Suite struct HubListingTests {
    private static let commit = "0123456789abcdef0123456789abcdef01234567"
    private static let sha256 = String(repeating: "ab", count: 32)

    private func listing(_ siblings: String) throws -> HubListing {
        try HubListing(Array("{\"sha\": \"\(Self.commit)\", \"siblings\": [\(siblings)]}".utf8))
    }

    @Test("files have a size and the digest of Git LFS or of git")
    func files() throws {
        let files = try listing(
            """
            {"rfilename": "a/model.onnx", "size": 7, "blobId": "\(Self.commit)", "lfs": {"sha256": "\(Self.sha256.uppercased())", "size": 7, "pointerSize": 134}},
            {"rfilename": "config.json", "size": 0, "blobId": "\(Self.commit)", "lfs": null, "other": [1]}
            """
        ).files
        #expect(
            files == [
                HubFile(path: "a/model.onnx", size: 7, digest: .sha256(Self.sha256)),
                HubFile(path: "config.json", size: 0, digest: .gitBlob(Self.commit)),
            ])
    }

    @Test(
        "a file without a usable size or digest cannot be pulled",
        arguments: [
            "", "\"size\": null,", "\"size\": -1,", "\"size\": 1.5,", "\"size\": 1e30,",
            "\"size\": 99999999999999999999,", "\"size\": \"7\",",
            "\"size\": true,", "\"size\": 7, \"lfs\": {\"size\": 7},", "\"size\": 7, \"lfs\": {\"sha256\": \"abc\"},",
            "\"size\": 7, \"lfs\": {\"sha256\": \"\(sha256)\", \"size\": 8},",
        ])
    func problems(_ members: String) throws {
        let file = try #require(
            try listing("{\"rfilename\": \"x\", \(members) \"blobId\": \"\(Self.commit)\"}").files.first)
        #expect(file.problem != nil)
        let bare = try #require(try listing("{\"rfilename\": \"x\", \"size\": 7}").files.first)
        #expect(bare.problem?.contains("digest") == true)
    }

    @Test(
        "paths that leave the folder, and doubles, are refused with the whole list",
        arguments: ["../x", "/x", "x/../../y", "x\\u0000y", "x\\ny", ""])
    func paths(_ path: String) {
        let error = #expect(throws: CommandError.self) {
            try listing("{\"rfilename\": \"\(path)\", \"size\": 1, \"blobId\": \"\(Self.commit)\"}")
        }
        #expect(error?.description.contains("path") == true)
        let double = #expect(throws: CommandError.self) {
            try listing("{\"rfilename\": \"x\"}, {\"rfilename\": \"x\"}")
        }
        #expect(double?.description.contains("twice") == true)
    }

    @Test(
        "other answers are refused",
        arguments: [
            "", "[]", "{", "{\"sha\": \"x\", \"siblings\": []}", "{\"siblings\": []}", "{\"sha\": \"\(commit)\"}",
            "{\"sha\": \"\(commit)\", \"siblings\": [1]}",
        ])
    func others(_ text: String) { #expect(throws: CommandError.self) { try HubListing(Array(text.utf8)) } }

    @Test("digests are those of git and sha256sum")
    func digests() throws {
        try #require(Shell.has("git") && Shell.has("sha256sum"))
        for count in [0, 1, 63, 64, 1000, 1 << 20] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
            let git = try Shell.run("git", ["hash-object", "--stdin"], input: Data(bytes)).text.trimmingCharacters(
                in: .whitespacesAndNewlines)
            let sha256 = String(try Shell.run("sha256sum", [], input: Data(bytes)).text.prefix(64))
            for (stated, isRight) in [
                (StatedDigest.gitBlob(git), true), (.sha256(sha256), true), (.gitBlob(Self.commit), false),
                (.sha256(Self.sha256), false),
            ] {
                var digest = FileDigest(stated: stated, size: count)
                // In pieces, as they are received.
                for start in stride(from: 0, to: count, by: 999) {
                    bytes[start..<min(start + 999, count)].withUnsafeBytes { digest.update($0) }
                }
                let found = digest.finish()
                #expect(found.sha256 == sha256)
                #expect((found.differing == nil) == isRight)
            }
        }
    }

    @Test("a record is read as it was written")
    func record() {
        let record = PullRecord(
            address: "https://hub/a/b", revision: Self.commit, model: "onnx/m.onnx", source: "onnx/m.onnx",
            files: [
                .init(path: "onnx/m.onnx", size: 7, sha256: Self.sha256, checked: .sha256),
                .init(path: "config.json", size: 1, sha256: Self.sha256, checked: .gitBlob, gitBlob: Self.commit),
                .init(path: "x", size: 0, sha256: Self.sha256, checked: .length),
            ])
        #expect(PullRecord(record.json) == record)
        let hostile = String(decoding: record.json, as: UTF8.self).replacingOccurrences(
            of: "config.json", with: "../config.json")
        #expect(PullRecord(Array(hostile.utf8)) == nil)
        for text in ["", "{}", "[]", "{\"address\": 1}"] { #expect(PullRecord(Array(text.utf8)) == nil) }
    }
}
