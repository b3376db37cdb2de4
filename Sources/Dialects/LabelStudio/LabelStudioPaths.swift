/// The paths of Label Studio's requests, which Vertex AI's variables must not name too.
package enum LabelStudioPaths {
    package static let health = "/health", setup = "/setup", predict = "/predict", webhook = "/webhook"
    package static let versions = "/versions"

    static let all = [health, setup, predict, webhook, versions]
}
