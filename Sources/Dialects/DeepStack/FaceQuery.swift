internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import ServiceCore
internal import Settings
internal import Tasks
internal import WireFormats

/// The parameters of DeepStack's requests about known faces, from the query or from text parts of the form.
struct FaceQuery: TaskQuery {
    var picture = PictureQuery()
    /// The name of a person; nil if not given.
    private(set) var person: String?
    /// The lowest confidence of a recognized face.
    private(set) var minimum: Float = 0.67
    var ownNames: [String] { ["userid", "min_confidence", "api_key"] }

    /// The longest body without pictures.
    private static let longestForm = 16 << 10
    /// The maximum number of fields of such a body.
    private static let maximumFields = 20

    mutating func take(_ parameter: RequestParameter) throws(ServiceError) -> Bool {
        switch parameter.name {
        case "userid": person = try TeachQuery.checked(parameter.value)
        case "min_confidence": minimum = try parameter.share()
        // Clients send it even if they have no key.
        case "api_key": break
        default: return false
        }
        return true
    }

    /// The name of a person, which a request needs.
    func requiredPerson() throws(ServiceError) -> String {
        guard let person else {
            throw .badRequest("\"userid\" is missing: send the name of the person as a form field or in the query")
        }
        return person
    }

    /// Reads the fields of a form, and the pictures in it. A body that is not a form is a picture.
    mutating func readPictures(_ call: Call, _ request: HTTPRequest) async throws(ServiceError) -> [EncodedImage] {
        try request.head.refuseContentCodings()
        guard let boundary = try FormParts.boundary(of: request) else { return [EncodedImage(request)] }
        let settings = call.live.settings
        let form = try await FormParts.read(
            request.body, boundary: boundary, maximum: settings.maxBatch, names: names, inputs: .numberedPictures(),
            in: call.parts.work, for: call.claim,
            until: picture.options(of: request, deadline: settings.deadline).deadline)
        if !form.parameters.isEmpty {
            try read(call.head.target, form: form.parameters, maxDeadline: settings.maxDeadline)
        }
        return form.images(in: request.body)
    }

    /// Reads the fields of a body without pictures: of either type of form.
    mutating func readFields(_ call: Call, _ request: HTTPRequest) async throws(ServiceError) {
        try request.head.refuseContentCodings()
        guard request.body.count <= Self.longestForm else {
            throw ServiceError(
                .bodyTooLarge,
                "this route takes a form without pictures, of at most \(Self.longestForm) bytes: the body has "
                    + "\(request.body.count)")
        }
        let fields: [(name: String, value: String)]
        if let boundary = try FormParts.boundary(of: request) {
            fields = try await FormParts.read(
                request.body, boundary: boundary, maximum: 1, names: names,
                inputs: .numberedPictures(needsPicture: false), in: call.parts.work, for: call.claim, until: nil
            ).parameters
        } else {
            let known = names
            fields = request.body.withUnsafeBytes { bytes in
                RequestTarget.formItems(of: bytes, maximum: Self.maximumFields).filter { known.contains($0.name) }
            }
        }
        try read(call.head.target, form: fields, maxDeadline: call.live.settings.maxDeadline)
    }
}
