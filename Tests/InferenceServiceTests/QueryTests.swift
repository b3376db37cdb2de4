import HTTPWire
import ImagePipeline
import InferenceService
internal import ServiceCore
internal import Tasks
import Testing
internal import WireFormats

/// The values of a request's query or form, at the limits.
@Suite struct QueryTests {
    private func read(
        _ query: String, form: [(name: String, value: String)] = []
    ) throws -> Result<ClassifyQuery, ServiceError> {
        let head = try Requests.head("POST /v1/classify?\(query) HTTP/1.1\nHost: x")
        return Result { () throws(ServiceError) in
            var query = ClassifyQuery()
            try query.read(head.target, form: form, maxDeadline: 2)
            return query
        }
    }

    @Test("all query parameters are read, and absent parameters have their defaults")
    func whatIsAskedFor() throws {
        let query = try read("top=3&threshold=0.25&crop=fill&orientation=ignore&timeout_ms=2000&explain=npy&page=2")
            .get()
        #expect(query.top == 3 && query.threshold == 0.25)
        #expect(query.picture.crop == .scaleFill && query.picture.orientation == .ignore)
        #expect(query.picture.timeoutMilliseconds == 2000 && query.picture.explain == .npy)
        #expect(query.picture.page == 2)
        let none = try read("").get()
        #expect(none.picture.page == 0)
        #expect(none.top == nil && none.threshold == nil && none.picture.crop == nil)
        #expect(none.picture.orientation == .apply && none.picture.timeoutMilliseconds == nil)
        #expect(none.picture.explain == nil)
        #expect(try read("orientation=apply").get().picture.orientation == .apply)
    }

    @Test("a coverage is a decimal number above 0 and below 1, of the route that classifies")
    func coverage() throws {
        func read(_ text: String, classifies: Bool = true) throws -> Result<ClassifyQuery, ServiceError> {
            let head = try Requests.head("POST /v1/classify?coverage=\(text) HTTP/1.1\nHost: x")
            return Result { () throws(ServiceError) in
                var query = ClassifyQuery()
                if classifies { query.labels = LabelQuery() }
                try query.read(head.target, maxDeadline: 2)
                return query
            }
        }
        for text in ["0.9", ".95", "9e-1", "0.000001", "0.999999999999999999"] {
            #expect(try read(text).get().coverage != nil, "\(text)")
        }
        for text in ["", "0", "1", "1.0", "-0.5", "nan", "0x.8", "0.1234567890123456789"] {
            let error = #expect(throws: ServiceError.self) { try read(text).get() }
            #expect(error?.status.code == 400, "\(text)")
            #expect(error?.message.contains("expected a decimal number above 0 and below 1") == true)
        }
        let error = #expect(throws: ServiceError.self) { try read("0.9", classifies: false).get() }
        #expect(error?.message.contains("unknown query parameter \"coverage\"") == true)
    }

    /// The names of `CGImagePropertyOrientation`, in the order of its raw values.
    @Test(
        "an orientation is a number of EXIF or the name that Core Graphics has for it",
        arguments: zip(
            1...8,
            ["up", "up_mirrored", "down", "down_mirrored", "left_mirrored", "right", "right_mirrored", "left"]))
    func orientations(_ number: Int, _ name: String) throws {
        let numbered = try read("orientation=\(number)").get().picture.orientation
        #expect(numbered.exif == number && numbered.rawValue == name)
        #expect(try read("orientation=\(name)").get().picture.orientation == numbered)
        #expect(try read("", form: [("orientation", name)]).get().picture.orientation == numbered)
    }

    @Test(
        "another orientation is refused with 400, with the names of the others",
        arguments: ["0", "9", "-1", "1.5", "01", "", "upMirrored", "sideways", "UP", "6%20"])
    func orientationIsRefused(_ text: String) {
        let error = #expect(throws: ServiceError.self) { try read("orientation=\(text)").get() }
        #expect(error?.status.code == 400 && error?.code.rawValue == "bad_request")
        #expect(error?.message.contains("a number of EXIF from 1 to 8, or one of \"up\", \"up_mirrored\"") == true)
    }

    @Test(
        "query values at the edges of their ranges are accepted",
        arguments: [
            "top=1", "top=1000000", "threshold=0", "threshold=1", "threshold=1e-3", "timeout_ms=1", "timeout_ms=2000",
            "crop=center", "crop=fit", "top=3&top=3", "threshold=.5", "threshold=5E-1", "explain=png",
            "explain=preprocess",
        ])
    func isTaken(_ query: String) throws { _ = try read(query).get() }

    @Test(
        "a wrong, repeated or unknown query parameter is refused with 400 and named",
        arguments: [
            ("top=0", "a whole number of 1 or more, found \"0\""), ("top=-1", "\"top\""), ("top=1.5", "\"top\""),
            ("top=", "\"top\""),
            ("threshold=1.01", "a number from 0 to 1"), ("threshold=-0.01", "\"threshold\""),
            ("threshold=nan", "\"threshold\""), ("threshold=0x1p-1", "found \"0x1p-1\""),
            ("threshold=0X1", "\"threshold\""),
            ("top=3&crop=fit&top=4", "query parameter \"top\" is given twice: \"3\" and \"4\""),
            ("timeout_ms=0", "from 1 to 2000"), ("timeout_ms=2001", "from 1 to 2000"), ("crop=middle", "\"center\""),
            ("orientation=yes", "\"apply\""), ("explain=all", "\"preprocess\""), ("tpo=3", "did you mean \"top\"?"),
            ("page=-1", "a whole number from 0 to 65534"), ("page=65535", "found \"65535\""), ("page=one", "\"page\""),
            ("x=1", "unknown query parameter \"x\""),
        ])
    func isRefusedByName(_ query: String, _ words: String) throws {
        let error = #expect(throws: ServiceError.self) { try read(query).get() }
        #expect(error?.status.code == 400)
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    }

    /// The query wins over the form, even if the form's value would be refused.
    @Test("a query parameter wins over the form field of the same name, even over an invalid value")
    func theQueryWinsOverTheForm() throws {
        let query = try read("top=3", form: [("top", "5"), ("threshold", "0.5")]).get()
        #expect(query.top == 3 && query.threshold == 0.5)
        #expect(try read("top=3", form: [("top", "many")]).get().top == 3)
        let error = #expect(throws: ServiceError.self) { try read("", form: [("top", "0")]).get() }
        #expect(error?.message.hasPrefix("form field \"top\"") == true)
        let twice = #expect(throws: ServiceError.self) { try read("", form: [("top", "1"), ("top", "2")]).get() }
        #expect(twice?.message == "form field \"top\" is given twice: \"1\" and \"2\"")
    }
}
