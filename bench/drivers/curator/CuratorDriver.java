import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Curator's LeaderLatch. Speaks the protocol of speak.ts; System.nanoTime is CLOCK_MONOTONIC on Linux, as process.hrtime is. */
public final class CuratorDriver {
    private static final Map<String, String> OPTIONS = new HashMap<>();
    private static final Map<String, CuratorFramework> CLIENTS = new ConcurrentHashMap<>();
    private static final Map<String, LeaderLatch> HOLDING = new ConcurrentHashMap<>();

    private static synchronized void emit(String event, String fields) {
        System.out.println("{\"event\":\"" + event + "\",\"at\":\"" + System.nanoTime() + "\"" + fields + "}");
        System.out.flush();
    }

    private static String about(String election, String as) {
        return ",\"election\":\"" + election + "\",\"as\":\"" + as + "\"";
    }

    private static String field(String line, String name) {
        Matcher found = Pattern.compile("\"" + name + "\":\"?([^\",}]*)").matcher(line);
        return found.find() ? found.group(1) : "";
    }

    /** One session for the candidates of a name. */
    private static CuratorFramework client(String as) {
        return CLIENTS.computeIfAbsent(as, name -> {
            int ttlMs = Integer.parseInt(OPTIONS.get("ttl"));
            CuratorFramework client =
                CuratorFrameworkFactory.newClient(OPTIONS.get("url"), ttlMs, 10000, new ExponentialBackoffRetry(100, 5));
            client.start();
            return client;
        });
    }

    private static void campaign(String election, String as, long since) throws Exception {
        LeaderLatch latch = new LeaderLatch(client(as), "/" + OPTIONS.get("namespace") + "/" + election, as);
        latch.addListener(new LeaderLatchListener() {
            @Override
            public void isLeader() {
                long at = System.nanoTime();
                HOLDING.put(election + "/" + as, latch);
                synchronized (CuratorDriver.class) {
                    System.out.println("{\"event\":\"leads\",\"at\":\"" + at + "\",\"since\":\"" + since + "\"" + about(election, as) + "}");
                    System.out.flush();
                }
            }

            @Override
            public void notLeader() {
                emit("lost", about(election, as) + ",\"reason\":\"notLeader\"");
            }
        });
        latch.start();
    }

    private static void reportLeading(String election, String as) throws InterruptedException {
        for (;;) {
            long from = System.nanoTime();
            LeaderLatch latch = HOLDING.get(election + "/" + as);
            if (latch != null && latch.hasLeadership()) emit("leading", about(election, as) + ",\"from\":\"" + from + "\"");
            Thread.sleep(5);
        }
    }

    private static void obey(String line) {
        long since = System.nanoTime();
        String election = field(line, "election");
        String as = field(line, "as");
        try {
            switch (field(line, "do")) {
                case "campaign":
                    campaign(election, as, since);
                    break;
                case "resign":
                    HOLDING.remove(election + "/" + as).close();
                    emit("resigned", about(election, as) + ",\"since\":\"" + since + "\"");
                    break;
                case "reportLeading":
                    reportLeading(election, as);
                    break;
                case "collect":
                    System.gc();
                    emit("collected", "");
                    break;
                default:
                    emit("failed", about(election, as) + ",\"error\":\"not done: " + field(line, "do") + "\"");
            }
        } catch (Exception error) {
            emit("failed", about(election, as) + ",\"error\":\"" + error.toString().replace('"', '\'') + "\"");
        }
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i + 1 < args.length; i += 2) OPTIONS.put(args[i].substring(2), args[i + 1]);
        emit("ready", "");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String command = line;
            Thread thread = new Thread(() -> obey(command));
            thread.setDaemon(true);
            thread.start();
        }
        System.exit(0);
    }
}
