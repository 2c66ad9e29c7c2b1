// A client of `incumbent serve` in Java, with its standard library alone.
//
// usage: java serve-client.java http://127.0.0.1:4040 ELECTION ID
//
// One thread asks, and the other one works. Prints "work TERM TIME" every 10 ms while it leads. TIME
// is the reading of the clock, in ns, that the client has compared with its deadline.

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

class ServeClient {
  static final long ASK_EVERY_MS = 200;

  /** What the sidecar answers. Java's standard library has no JSON. */
  record Candidacy(String json) {
    String field(String name) {
      Matcher found = Pattern.compile("\"" + name + "\":\"?([^,\"}]*)").matcher(json);
      return found.find() ? found.group(1) : "";
    }

    long validForMs() {
      return Long.parseLong(field("validForMs"));
    }

    String state() {
      return field("state");
    }

    String term() {
      return field("term");
    }
  }

  /** An answer that is an error. */
  static class StatusException extends IOException {
    final int status;

    StatusException(int status) {
      super("the sidecar answers " + status);
      this.status = status;
    }
  }

  final HttpClient client = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(1)).version(HttpClient.Version.HTTP_1_1).build();
  final String path;
  String secret = "";

  // The term and the deadline. The monitor is held during each act.
  String term = "";
  long deadline = System.nanoTime();

  ServeClient(String path) {
    this.path = path;
  }

  Candidacy call(String method, String path, String body) throws IOException, InterruptedException {
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(path)).timeout(Duration.ofSeconds(1)).header("content-type", "application/json");
    if (!secret.isEmpty()) request.header("candidacy-secret", secret);
    request.method(method, body.isEmpty() ? BodyPublishers.noBody() : BodyPublishers.ofString(body));
    HttpResponse<String> response = client.send(request.build(), BodyHandlers.ofString());
    if (response.statusCode() >= 300) throw new StatusException(response.statusCode());
    return new Candidacy(response.body());
  }

  Candidacy get(String path) throws IOException, InterruptedException {
    return call("GET", path, "");
  }

  void ask() throws IOException, InterruptedException {
    if (secret.isEmpty()) secret = call("PUT", path, "{\"renewWithinMs\":2000}").field("secret");
    long asked = System.nanoTime();
    Candidacy answer = get(path);
    long until = asked + answer.validForMs() * 1_000_000;
    synchronized (this) {
      term = answer.term();
      deadline = until;
    }
    if (answer.state().equals("stopping"))
      call("POST", path + "/acknowledge", "{\"term\":\"" + answer.term() + "\"}");
  }

  void work() {
    while (true) {
      synchronized (this) {
        long now = System.nanoTime();
        if (now - deadline < 0) System.out.println("work " + term + " " + now);
      }
      sleep(10);
    }
  }

  void run() throws InterruptedException {
    Thread worker = new Thread(this::work);
    worker.setDaemon(true);
    worker.start();
    while (true) {
      try {
        ask();
      } catch (StatusException e) {
        // 404: the candidacy is over. 409: a former one is not over yet.
        if (e.status == 404 || e.status == 409) secret = "";
      } catch (IOException e) {
        // The sidecar does not answer: the last deadline stands.
      }
      sleep(ASK_EVERY_MS);
    }
  }

  static void sleep(long ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  public static void main(String[] args) throws InterruptedException {
    new ServeClient(args[0] + "/elections/" + args[1] + "/candidacies/" + args[2]).run();
  }
}
